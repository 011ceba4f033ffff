// World.
export default {
  'world.lead': 'Where the audience is, by time zone. A click on a dot narrows it.',
  'world.total': {one: '{n} installation in {zones} time zones', other: '{n} installations in {zones} time zones'},
  'world.asOf': 'Exact, as of {time}',
  'world.map': 'Map of the world with a dot for each of {zones} time zones',
  'world.lost': {
    one: '{n} installation has a zone that is no place, such as UTC.',
    other: '{n} installations have a zone that is no place, such as UTC.',
  },
  'world.offsets': 'Local time now',
  'world.offsetsLabel': 'Installations by local time now, with day and night',
  'world.table': 'Data table',
  'world.count': 'Count',
  'world.share': 'Share',
  'world.dot': '{name}: {n} ({share})',
  'world.add': 'Add',
  'world.addZone': 'Add {zone} as a condition',
  'world.added': 'Added: {value}',
  'world.print': 'Print',
  'world.empty': 'Nobody is in this audience',
  'world.emptyText': 'Change the filter on Audience.',
};
