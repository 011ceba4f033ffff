// Die Ansicht Export.
export default {
  'export.lead': 'Die Zielgruppe als Datei, für eine Tabelle oder ein Programm.',
  'export.format': 'Format',
  'export.format.csv': 'CSV, für Tabellen',
  'export.format.ndjson': 'NDJSON, für Programme',
  'export.safe': 'Sicher in einer Tabelle',
  'export.safeHint': 'Jedes Gerät kann einen Text senden, den eine Tabelle als Formel ausführt. Ein Apostroph davor verhindert das.',
  'export.fields': 'Felder',
  'export.group.identity': 'Installation',
  'export.group.device': 'Gerät',
  'export.group.place': 'Sprache und Ort',
  'export.group.person': 'Person und Zeit',
  'export.group.permission': 'Erlaubnis und Einstellungen',
  'export.download': 'Herunterladen',
  'export.downloadRows': {one: '{n} Zeile herunterladen', other: '{n} Zeilen herunterladen'},
  'export.started': 'Das Herunterladen von {rows} Zeilen hat begonnen. Der Browser zeigt, wie weit es ist.',
};
