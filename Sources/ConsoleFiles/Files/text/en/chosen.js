// The chosen audience, as the screens Export and Waves show it.
export default {
  'chosen.audience': 'Audience',
  'chosen.everybody': 'Everybody: no condition is set.',
  'chosen.count': {one: 'installation', other: 'installations'},
  'chosen.change': 'Change the audience',
  'chosen.include': 'Which installations',
};
