// The list of the screens. A new screen is a line here, a module, and a section of text for each language.
//
// A line is `{path, roles, group, section}`: the fragment `#/path`; the roles of which one is needed (an admin may do
// everything); the heading in the navigation; the sections of text beside `core`, which are loaded with the module. The name in the navigation is the text `nav.<path>`. `global` screens need no app.
//
// The module `screens/<path>.js` exports as default a class that extends `Screen` (screen.js).

const audiences = ['marketing', 'sender'];
const people = ['service', 'support'];

export const screens = [
  {path: 'audience', roles: audiences, group: 'audiences', sections: []},
  {path: 'breakdown', roles: audiences, group: 'audiences', sections: []},
  {path: 'world', roles: audiences, group: 'audiences', sections: []},
  {path: 'segments', roles: audiences, group: 'audiences', sections: []},
  {path: 'export', roles: audiences, group: 'audiences', sections: ['views']},
  {path: 'waves', roles: audiences, group: 'audiences', sections: ['views']},
  {path: 'topics', roles: [...audiences, ...people], group: 'messages', sections: ['views']},
  {path: 'messages', roles: ['marketing', 'sender', 'service'], group: 'messages', sections: ['views']},
  {path: 'lookup', roles: people, group: 'people', sections: ['views']},
  {path: 'operations', roles: ['admin'], group: 'operations', sections: ['views'], global: true},
];

/** The screen of a path; undefined if there is none. */
export function screenAt(path) {
  return screens.find((screen) => screen.path === path);
}
