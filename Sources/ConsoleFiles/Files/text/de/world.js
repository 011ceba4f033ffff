// Welt.
export default {
  'world.lead': 'Wo die Zielgruppe ist, nach Zeitzone. Ein Klick auf einen Punkt grenzt sie ein.',
  'world.total': {one: '{n} Installation in {zones} Zeitzonen', other: '{n} Installationen in {zones} Zeitzonen'},
  'world.asOf': 'Genau, Stand {time}',
  'world.map': 'Weltkarte mit einem Punkt für jede von {zones} Zeitzonen',
  'world.lost': {
    one: '{n} Installation hat eine Zone ohne Ort, etwa UTC.',
    other: '{n} Installationen haben eine Zone ohne Ort, etwa UTC.',
  },
  'world.offsets': 'Ortszeit jetzt',
  'world.offsetsLabel': 'Installationen nach Ortszeit jetzt, mit Tag und Nacht',
  'world.table': 'Datentabelle',
  'world.count': 'Anzahl',
  'world.share': 'Anteil',
  'world.dot': '{name}: {n} ({share})',
  'world.add': 'Hinzufügen',
  'world.addZone': '{zone} als Bedingung hinzufügen',
  'world.added': 'Hinzugefügt: {value}',
  'world.print': 'Drucken',
  'world.empty': 'Niemand ist in dieser Zielgruppe',
  'world.emptyText': 'Ändern Sie den Filter unter Zielgruppe.',
};
