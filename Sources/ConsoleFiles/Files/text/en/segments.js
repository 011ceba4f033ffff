// Segments; saving one is part of Audience.
export default {
  'segments.lead': 'Saved filters. Each is counted as of now.',
  'segments.new': 'New filter',
  'segments.empty': 'No segment is saved',
  'segments.emptyText': 'Build a filter on Audience and save it under a name.',
  'segments.count': 'Reachable',
  'segments.updated': 'Updated',
  'segments.usedIn': 'Used in',
  'segments.asOf': 'Exact, as of {time}',
  'segments.delete': 'Delete',
  'segments.deleteNamed': 'Delete {name}',
  'segments.deleteTitle': 'Delete segment {name}?',
  'segments.deleteText': 'The filter cannot be restored.',
  'segments.deleted': 'Segment {name} is deleted.',
};
