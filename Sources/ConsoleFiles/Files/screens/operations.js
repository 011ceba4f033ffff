// Operations: the parts are pages of their own under the fragment `#/operations/<page>`.

import {h} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {href} from '../core/router.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {t} from '../core/text.js';
import {appsPage} from './operations/apps.js';
import {healthPage} from './operations/health.js';
import {keysPage} from './operations/keys.js';
import {policyPage} from './operations/policy.js';
import {runsPage} from './operations/runs.js';

/** `isOfApp` pages need an app; `isOfAll` ones the admin key. */
const pages = {
  health: {build: healthPage},
  runs: {build: runsPage},
  apps: {build: appsPage, isOfAll: true},
  keys: {build: keysPage, isOfApp: true},
  policy: {build: policyPage, isOfApp: true},
};

export default class OperationsScreen extends Screen {
  start() {
    const allowed = Object.keys(pages).filter((name) => !pages[name].isOfAll || session.choosesApp);
    const name = allowed.includes(this.parts[0]) ? this.parts[0] : allowed[0];
    this.append(
      this.heading(t('nav.operations'), t('operations.lead')),
      h('ul', {class: 'tabs', 'aria-label': t('operations.parts')}, allowed.map((other) => h('li', {}, h('a', {
        href: href('operations', other), 'aria-current': other === name ? 'page' : null,
      }, t(`operations.page.${other}`))))),
      pages[name].isOfApp && !session.app
        ? emptyPanel(t('operations.noApp'), t('operations.noAppText'), h('a', {
          class: 'button primary', href: href('operations', 'apps'),
        }, t('operations.page.apps')))
        : pages[name].build(this));
  }
}

customElements.define('operations-screen', OperationsScreen);
