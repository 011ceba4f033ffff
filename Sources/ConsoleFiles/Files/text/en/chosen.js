// The chosen audience, as the screens Export and Waves show it.
export default {
  'chosen.audience': 'Audience',
  'chosen.everybody': 'Everybody: no condition is set.',
  'chosen.count': {one: 'installation', other: 'installations'},
  'chosen.change': 'Change the audience',
  'chosen.include': 'Which installations',
  'chosen.all': 'All of these:',
  'chosen.any': 'Any of these:',
  'chosen.none': 'None of these:',
  'chosen.not': 'not:',
  'chosen.or': 'or',
  'chosen.near': '{radius} km of {place}',
};
