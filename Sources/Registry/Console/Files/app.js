// The entry: language, session, then the screen of the fragment.

import {h, replace} from './core/dom.js';
import {failurePanel} from './core/panels.js';
import {follow} from './core/router.js';
import {session} from './core/session.js';
import {show} from './core/shell.js';
import {isSupported, language, t} from './core/text.js';
import './screens/audience.js';
import './screens/breakdown.js';
import './screens/export.js';
import './screens/lookup.js';
import './screens/messages.js';
import './screens/operations.js';
import './screens/segments.js';
import './screens/signin.js';
import './screens/topics.js';
import './screens/trend.js';
import './screens/waves.js';
import './screens/world.js';

document.documentElement.lang = language;

/** The one-time code of a sign-in link, or why the identity provider's sign-in failed; they leave the address at once. */
const [, code, notice] = /^#(?:code=(.+)|sign-in=([a-z-]+))$/.exec(location.hash) ?? [];
// The identity provider leads back to the page without the fragment that the visitor came with.
const fragment = sessionStorage.getItem('fragment') ?? '';
sessionStorage.removeItem('fragment');
if (code || notice || !location.hash) history.replaceState(null, '', location.pathname + fragment);

async function start() {
  try {
    await (code ? session.signIn({code}) : session.restore());
  } catch (error) {
    if (!code || error.status === undefined) return replace(document.body, h('main', {}, failurePanel(error, start)));
    session.linkFault = error;
  }
  session.notice = notice;
  session.addEventListener('change', show);
  follow(show);
}

if (isSupported()) start();
else replace(document.body, h('main', {}, h('p', {class: 'note'}, t('panel.oldBrowser'))));
