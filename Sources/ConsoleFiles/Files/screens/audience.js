import {emptyPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {t} from '../core/text.js';

/** Builds a filter and counts it. */
export default class AudienceScreen extends Screen {
  start() {
    this.append(this.heading(), emptyPanel(t('nav.audience'), ''));
  }
}

customElements.define('audience-screen', AudienceScreen);
