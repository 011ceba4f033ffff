// Segmente; das Speichern gehört zur Zielgruppe.
export default {
  'segments.lead': 'Gespeicherte Filter. Jeder wird jetzt gezählt.',
  'segments.new': 'Neuer Filter',
  'segments.empty': 'Kein Segment ist gespeichert',
  'segments.emptyText': 'Bauen Sie unter Zielgruppe einen Filter und speichern Sie ihn unter einem Namen.',
  'segments.count': 'Erreichbar',
  'segments.updated': 'Geändert',
  'segments.usedIn': 'Verwendet in',
  'segments.asOf': 'Genau, Stand {time}',
  'segments.delete': 'Löschen',
  'segments.deleteNamed': '{name} löschen',
  'segments.deleteTitle': 'Segment {name} löschen?',
  'segments.deleteText': 'Der Filter kann nicht wiederhergestellt werden.',
  'segments.deleted': 'Segment {name} ist gelöscht.',
};
