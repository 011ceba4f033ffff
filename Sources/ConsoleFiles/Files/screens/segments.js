import {emptyPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {t} from '../core/text.js';

/** The saved filters of the app. */
export default class SegmentsScreen extends Screen {
  start() {
    this.append(this.heading(), emptyPanel(t('nav.segments'), ''));
  }
}

customElements.define('segments-screen', SegmentsScreen);
