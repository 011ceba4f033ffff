// The screen Export.
export default {
  'export.lead': 'The audience as a file, for a spreadsheet or a program.',
  'export.format': 'Format',
  'export.format.csv': 'CSV, for spreadsheets',
  'export.format.ndjson': 'NDJSON, for programs',
  'export.safe': 'Safe in a spreadsheet',
  'export.safeHint': 'Any device can send a text that a spreadsheet would run as a formula. An apostrophe before it prevents that.',
  'export.fields': 'Fields',
  'export.group.identity': 'Installation',
  'export.group.device': 'Device',
  'export.group.place': 'Language and place',
  'export.group.person': 'Person and time',
  'export.group.permission': 'Permission and settings',
  'export.download': 'Download',
  'export.downloadRows': {one: 'Download {n} row', other: 'Download {n} rows'},
  'export.started': 'The download of {rows} rows has begun. The browser shows its progress.',
};
