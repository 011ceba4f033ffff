// Die gewählte Zielgruppe, wie Export und Wellen sie zeigen.
export default {
  'chosen.audience': 'Zielgruppe',
  'chosen.everybody': 'Alle: Es ist keine Bedingung gesetzt.',
  'chosen.count': {one: 'Installation', other: 'Installationen'},
  'chosen.change': 'Zielgruppe ändern',
  'chosen.include': 'Welche Installationen',
  'chosen.all': 'Alles davon:',
  'chosen.any': 'Mindestens eines davon:',
  'chosen.none': 'Nichts davon:',
  'chosen.not': 'nicht:',
  'chosen.or': 'oder',
  'chosen.near': '{radius} km um {place}',
};
