// Messages: the list, or one of them with what came of it.

import {appPath, call} from '../core/client.js';
import {foreign, h} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {href} from '../core/router.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {t} from '../core/text.js';
import {tag, when} from '../parts/facts.js';
import {pages} from '../parts/pages.js';
import {messageView} from './messages/message.js';

export default class MessagesScreen extends Screen {
  start() {
    const [name] = this.parts;
    if (name) this.append(this.heading(), ...messageView(this, name));
    else this.#list();
  }

  #list() {
    const place = h('div');
    this.append(this.heading(t('nav.messages'), t('messages.lead')), place);
    const path = appPath(session.app, 'messages');
    this.load(place, async (signal) => (await call('GET', path, {signal})).data, (first) => {
      if (first.messages.length === 0) return emptyPanel(t('messages.empty'), t('messages.emptyText'));
      return pages({
        first, more: t('messages.more'), list: h('ul', {class: 'plain cards'}),
        request: async (after) => (await call(
          'GET', `${path}?after=${encodeURIComponent(after)}`, {signal: this.signal})).data,
        items: ({messages}) => messages.map(item),
      });
    });
  }
}

function item(message) {
  const hasEnded = Date.parse(message.expiresAt) <= Date.now();
  return h(
    'li', {class: 'card'},
    h('a', {href: href('messages', message.message)}, foreign(message.title ?? message.message)), ' ',
    message.title ? h('code', {class: 'hint'}, foreign(message.message)) : null,
    h('p', {class: 'hint'}, t('messages.created'), ' ', when(message.createdAt), ' · ',
      t(hasEnded ? 'messages.ended' : 'messages.expires'), ' ', when(message.expiresAt), ' ',
      Object.entries(message.labels).map(([name, value]) => [tag('', [foreign(name), ': ', foreign(value)]), ' '])));
}

customElements.define('messages-screen', MessagesScreen);
