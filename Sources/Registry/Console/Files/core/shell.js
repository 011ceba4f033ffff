// What is around every screen: the header with the app, the navigation, and the main part that holds the screen.
//
// The navigation lists what the key may do, and says of the rest which roles it needs.

import {appPath, call} from './client.js';
import {h, replace} from './dom.js';
import {emptyPanel, failureText, forbiddenPanel, roleName} from './panels.js';
import {href, rewrite, route} from './router.js';
import {screenAt, screens} from './screens.js';
import {session} from './session.js';
import {anyOf, chooseLanguage, language, list, t, timeOfDay} from './text.js';
import {toast, toasts} from '../parts/toast.js';

const frame = h('div', {class: 'frame'});
const main = h('main', {id: 'main', tabindex: '-1'});
const skip = h('button', {type: 'button', class: 'skip', onclick: () => main.focus()});
let navigations = 0;
/** Whose screen is shown. */
let shownOwner = null;

/** The fragment of the screen that is shown. */
let shownAt = null;

/** Shows the screen of the present fragment, or the sign-in. */
export function show() {
  const owner = session.isSignedIn ? `${session.app} ${session.name}` : null;
  if (session.hasEnded && hasWork()) return askAgain();
  if (endAsking() && owner === shownOwner) return;
  if (shownAt !== location.hash && !mayLeave()) return history.replaceState(null, '', shownAt);
  shownAt = location.hash;
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  // The region of messages is there from the start and stays: else screen readers do not hear of the first one.
  if (!frame.isConnected) replace(document.body, frame, toasts);
  // A screen of an ended session, or of another app, must not ask anything more.
  if (owner !== shownOwner) replace(main);
  shownOwner = owner;
  const {path, parts} = route();
  const screen = session.isSignedIn ? screenAt(path) ?? home() : signIn;
  const element = content(screen, parts);
  document.title = `${t(`nav.${screen.path}`)} · ${t('app.title')}`;
  // A screen that is moved in the page would start again: the former one leaves first.
  replace(main);
  replace(frame, session.isSignedIn ? [skip, header(), navigationOf(screen)] : [], main);
  skip.textContent = t('nav.skip');
  replace(main, element);
  // The first screen leaves the focus where the browser puts it.
  if (++navigations > 1) (main.querySelector('h1, [autofocus]') ?? main).focus({preventScroll: true});
  scrollTo(0, 0);
}

/** Whether a form has what nobody has saved: forms that can lose work say so by `isChanged`. */
const hasWork = () => [...document.forms].some((form) => form.isChanged);
const hasUnsaved = () => (session.isSignedIn || session.hasEnded) && hasWork();
const mayLeave = () => !hasUnsaved() || confirm(t('panel.unsaved'));
addEventListener('beforeunload', (event) => hasUnsaved() && event.preventDefault());

/** The sign-in in front of a form that was not saved when the session ended: it waits out of sight. */
let asking = null;

function askAgain() {
  if (asking) return;
  frame.hidden = true;
  asking = h('dialog', {
    'aria-label': t('nav.signin'), oncancel: (event) => event.preventDefault(),
  }, document.createElement('signin-screen'));
  document.body.append(asking);
  asking.showModal();
}

/** @returns whether it was asking. */
function endAsking() {
  if (!asking) return false;
  frame.hidden = false;
  asking.close();
  asking.remove();
  asking = null;
  return true;
}

let notice = null;
session.addEventListener('ending', ({detail: time}) => {
  notice?.remove();
  notice = time && toast(t('session.ending', {time: timeOfDay(time)}), 'error');
});

const signIn = {path: 'signin', roles: [], global: true};

function home() {
  return screens.find((screen) => session.may(screen.roles)) ?? screens[0];
}

function content(screen, parts) {
  if (screen !== signIn && !session.may(screen.roles)) return [title(screen), forbiddenPanel(screen.roles)];
  if (!screen.global && !session.app) {
    return [title(screen), emptyPanel(t('app.none'), t('app.noneText'), operationsLink())];
  }
  const element = document.createElement(`${screen.path}-screen`);
  element.parts = parts;
  element.name = screen.path;
  return element;
}

/** The heading of a screen that cannot be shown. */
function title(screen) {
  return h('h1', {tabindex: '-1'}, t(`nav.${screen.path}`));
}

function operationsLink() {
  if (!session.may(['admin'])) return null;
  return h('a', {class: 'button primary', href: href('operations')}, t('nav.operations'));
}

// MARK: Header

function header() {
  return h(
    'header', {class: 'top'},
    h('span', {class: 'brand'}, t('app.title')),
    session.choosesApp && session.apps.length > 0 ? appChoice() : h('span', {class: 'app'}, session.app),
    h('span', {class: 'spacer'}),
    h('span', {class: 'who'}, who()),
    languageChoice(),
    h('button', {type: 'button', onclick: signOut}, t('session.signOut')));
}

/** The key's name and its roles, if they are not the same. */
function who() {
  const roles = list(session.roles.map(roleName));
  return session.name === roles ? roles : [session.name, ' ', h('small', {}, roles)];
}

function appChoice() {
  const options = session.apps.map((app) => h('option', {value: app}, app));
  const props = {'aria-label': t('app.choose'), value: session.app, onchange: chooseApp};
  if (!session.hasMoreApps) return h('select', props, options);
  return [h('input', {...props, type: 'text', list: 'apps', spellcheck: 'false'}), h('datalist', {id: 'apps'}, options)];
}

async function chooseApp({target}) {
  const app = target.value.trim();
  target.value = session.app;
  try {
    // Only an app of the list is known to exist.
    if (!app) return;
    if (!session.apps.includes(app)) await call('GET', appPath(app));
    if (!mayLeave()) return;
    // What the fragment names is the former app's.
    if (route().path !== 'operations') rewrite(route().path);
    session.choose(app);
  } catch (error) {
    toast(failureText(error), 'error');
  }
}

function languageChoice() {
  return h('select', {
    class: 'language', 'aria-label': t('app.language'), value: language,
    onchange: (event) => chooseLanguage(event.target.value),
  }, h('option', {value: 'en', lang: 'en'}, 'English'), h('option', {value: 'de', lang: 'de'}, 'Deutsch'));
}

async function signOut() {
  // The screen must not ask anything while its session ends.
  replace(main);
  try {
    await session.signOut();
  } catch (error) {
    toast(failureText(error), 'error');
    show();
  }
}

// MARK: Navigation

function navigationOf(current) {
  const allowed = screens.filter((screen) => session.may(screen.roles));
  const absent = screens.filter((screen) => !session.may(screen.roles));
  const groups = Map.groupBy(allowed, (screen) => screen.group);
  return h(
    'nav', {'aria-label': t('nav.label')},
    [...groups].map(([group, members]) => [
      h('h2', {}, t(`nav.group.${group}`)),
      h('ul', {}, members.map((screen) => h('li', {}, h('a', {
        href: href(screen.path), 'aria-current': screen === current ? 'page' : null,
      }, t(`nav.${screen.path}`))))),
    ]),
    absent.length > 0 ? absence(absent) : null);
}

function absence(screens) {
  return h(
    'details', {class: 'absent'},
    h('summary', {}, t('nav.absent', {n: screens.length})),
    h('ul', {}, screens.map((screen) => h(
      'li', {}, t(`nav.${screen.path}`),
      h('small', {}, t('nav.needs', {roles: anyOf([...new Set([...screen.roles, 'admin'])].map(roleName))}))))));
}
