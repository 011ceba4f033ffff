// Die gewählte Zielgruppe, wie Export und Wellen sie zeigen.
export default {
  'chosen.audience': 'Zielgruppe',
  'chosen.everybody': 'Alle: Es ist keine Bedingung gesetzt.',
  'chosen.count': {one: 'Installation', other: 'Installationen'},
  'chosen.change': 'Zielgruppe ändern',
  'chosen.include': 'Welche Installationen',
};
