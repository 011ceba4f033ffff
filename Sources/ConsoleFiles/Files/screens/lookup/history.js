// The time line of an installation: one plain sentence for each event, and who made the change.

import {call} from '../../core/client.js';
import {foreign, h} from '../../core/dom.js';
import {emptyPanel, roleName} from '../../core/panels.js';
import {hasText, list, parts, t} from '../../core/text.js';
import {exactly} from '../../parts/facts.js';
import {pages} from '../../parts/pages.js';
import {actor, sentence} from './sentences.js';

/** @param path of the history; @param page its first page */
export function timeline(path, page, signal) {
  if (page.events.length === 0) return emptyPanel(t('lookup.noEvents'), t('lookup.noEventsText'));
  return pages({
    first: page,
    request: async (after) => (await call('GET', `${path}?after=${encodeURIComponent(after)}`, {signal})).data,
    items: (page) => page.events.map(item),
    list: h('ol', {class: 'events'}),
    more: t('lookup.more'),
  });
}

function item(event) {
  return h(
    'li', {class: `event ${event.event}`},
    h('p', {class: 'hint'}, exactly(event.at)),
    h('p', {}, sentenceNodes(event)),
    h('p', {class: 'hint'}, actorText(event.actor), generation(event)));
}

/** The sentence of an event, with the users in it. */
export function sentenceNodes(event) {
  const {key, values} = sentence(event);
  if (!hasText(key)) {
    return parts('lookup.event.unknown', {event: h('code', {}, event.event), reason: h('code', {}, event.reason)});
  }
  return parts(key, {user: person(values.user), previous: person(values.previous), topics: list(values.topics)});
}

/** A user's id, or that there is none. */
export function person(user) {
  return user === null ? t('lookup.anonymous') : h('b', {}, foreign(user));
}

function actorText(text) {
  const known = actor(text);
  if (!known) return foreign(text);
  const {role, id} = known.values;
  return parts(known.key, {role: role && (hasText(`role.${role}`) ? roleName(role) : role), id: id && foreign(id)});
}

function generation({generationBefore: before, generationAfter: after}) {
  return after === null || before === after ? null : ` · ${t('lookup.generation')} ${after}`;
}
