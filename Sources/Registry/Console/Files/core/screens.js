// The list of the screens. A new screen is a line here, an import in app.js, and texts.
//
// A line is `{path, roles, group}`: the fragment `#/path`; the roles of which one is needed (an admin may do
// everything); the heading in the navigation. The name in the navigation is the text `nav.<path>`. `global` screens
// need no app.
//
// The module `screens/<path>.js` defines the element `<path>-screen`, whose class extends `Screen` (screen.js).

const audiences = ['marketing', 'sender'];
const people = ['service', 'support'];

export const screens = [
  {path: 'audience', roles: audiences, group: 'audiences'},
  {path: 'breakdown', roles: audiences, group: 'audiences'},
  {path: 'world', roles: audiences, group: 'audiences'},
  {path: 'trend', roles: audiences, group: 'audiences'},
  {path: 'segments', roles: audiences, group: 'audiences'},
  {path: 'export', roles: audiences, group: 'audiences'},
  {path: 'waves', roles: audiences, group: 'audiences'},
  {path: 'topics', roles: [...audiences, ...people], group: 'messages'},
  {path: 'messages', roles: ['marketing', 'sender', 'service'], group: 'messages'},
  {path: 'lookup', roles: people, group: 'people'},
  {path: 'operations', roles: ['admin'], group: 'operations', global: true},
];

/** The screen of a path; undefined if there is none. */
export function screenAt(path) {
  return screens.find((screen) => screen.path === path);
}
