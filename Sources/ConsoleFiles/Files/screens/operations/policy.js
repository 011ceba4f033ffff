// The policy of the app as a form. Saving shows the difference first; a change of somebody else's is shown, and never
// overwritten unseen.

import {Problem, appPath, call} from '../../core/client.js';
import {changeTable, conflictTable} from '../../parts/changes.js';
import {dialog} from '../../parts/dialog.js';
import {foreign, h, replace} from '../../core/dom.js';
import {failureText} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {t} from '../../core/text.js';
import {toast} from '../../parts/toast.js';
import {field, section} from '../../parts/facts.js';
import {Unreadable, editor, valueText} from './editors.js';
import {applied, differing, memberAt, memberGroups, patchOf, valueAt} from './members.js';

export function policyPage(screen) {
  const place = h('div');
  const read = (signal) => call('GET', appPath(session.app), {signal});
  screen.load(place, read, ({data, etag}) => new PolicyForm(place, read, screen.signal).show(data, etag));
  return place;
}

class PolicyForm {
  /** The policy that the form began with, and its ETag. */
  #base = null;
  #etag = null;
  /** By path: `{member, editor, fault}`. */
  #fields = new Map();

  constructor(place, read, signal) {
    Object.assign(this, {place, read, signal});
  }

  /** @param draft the values in the controls, if they are not those of `base` */
  show(base, etag, draft = base) {
    this.#base = base;
    this.#etag = etag;
    this.#fields.clear();
    return h(
      'form', {novalidate: true, onsubmit: (event) => {
        event.preventDefault();
        this.#save();
      }},
      Object.entries(memberGroups).map(([group, members]) => section(
        t(`operations.group.${group}`), h('div', {class: 'members'}, members.map((member) => this.#field(member, draft))))),
      h('p', {class: 'actions'}, h('button', {class: 'primary'}, t('operations.review')), h(
        'button', {type: 'button', onclick: () => replace(this.place, this.show(this.#base, this.#etag))},
        t('operations.discard'))));
  }

  #field(member, draft) {
    const control = editor(member, valueAt(draft, member.path));
    const {node, fault} = field(t(`operations.member.${member.path}`), control.node, t(`operations.hint.${member.path}`));
    this.#fields.set(member.path, {member, read: control.read, fault});
    return node;
  }

  /** The members that the form changes; null if a control cannot be read. */
  #changes() {
    let isReadable = true;
    const draft = structuredClone(this.#base);
    for (const {member, read, fault} of this.#fields.values()) {
      fault(null);
      try {
        Object.assign(draft, applied(draft, [{member, after: read()}]));
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error;
        fault(error.message);
        isReadable = false;
      }
    }
    if (!isReadable) this.#showFirstFault();
    return isReadable ? differing(this.#base, draft) : null;
  }

  async #save() {
    const changes = this.#changes();
    if (!changes) return;
    if (changes.length === 0) return toast(t('operations.nothingToSave'));
    const goesOn = await dialog({
      title: t('operations.reviewTitle'),
      content: [h('p', {}, t('operations.reviewText', {app: session.app})), changeTable(rowsOf(changes))],
      actions: [{label: t('operations.save'), value: true, kind: 'primary'}],
    });
    if (!goesOn) return;
    try {
      const {data, etag} = await call('PATCH', appPath(session.app), {
        body: patchOf(changes), ifMatch: this.#etag, signal: this.signal,
      });
      replace(this.place, this.show(data, etag));
      toast(t('operations.saved'));
    } catch (error) {
      if (!this.signal.aborted) await this.#refused(error, changes);
    }
  }

  async #refused(error, changes) {
    if (!(error instanceof Problem)) return toast(failureText(error), 'error');
    if (error.status === 412) return this.#resolve(changes);
    const others = error.errors.filter((fault) => {
      const member = fault.pointer && memberAt(fault.pointer);
      if (member) this.#fields.get(member.path).fault(fault.detail);
      return !member;
    });
    if (error.errors.length === 0 || others.length > 0) toast(failureText(error), 'error');
    this.#showFirstFault();
  }

  /** Somebody else has saved meanwhile: shows what changed, and puts the own changes on top of it if that is wanted. */
  async #resolve(mine) {
    let present;
    try {
      present = await this.read(this.signal);
    } catch (error) {
      if (!this.signal.aborted) toast(failureText(error), 'error');
      return;
    }
    const theirs = differing(this.#base, present.data);
    const choice = await dialog({
      title: t('operations.conflict'),
      content: [
        h('p', {}, t('operations.conflictText')),
        conflictTable(conflictRows(theirs, mine)),
      ],
      actions: [
        {label: t('operations.keepMine'), value: 'mine', kind: 'primary'},
        {label: t('operations.takeTheirs'), value: 'theirs'},
      ],
    });
    if (!choice) return;
    const draft = choice === 'mine' ? applied(present.data, mine) : present.data;
    replace(this.place, this.show(present.data, present.etag, draft));
    toast(t(choice === 'mine' ? 'operations.keptMine' : 'operations.tookTheirs'));
  }

  #showFirstFault() {
    const invalid = this.place.querySelector('[aria-invalid="true"]');
    invalid?.focus();
    invalid?.scrollIntoView({block: 'center'});
  }
}

const name = (member) => t(`operations.member.${member.path}`);

function rowsOf(changes) {
  return changes.map(({member, before, after}) => ({
    name: name(member), before: foreign(valueText(member, before)), after: foreign(valueText(member, after)),
  }));
}

/** The members that either side changed. */
function conflictRows(theirs, mine) {
  const own = new Map(mine.map((change) => [change.member.path, change]));
  const other = new Map(theirs.map((change) => [change.member.path, change]));
  return [...new Set([...other.keys(), ...own.keys()])].map((path) => {
    const {member, before} = other.get(path) ?? own.get(path);
    const after = (changes) => (changes.has(path) ? foreign(valueText(member, changes.get(path).after)) : null);
    return {name: name(member), before: foreign(valueText(member, before)), theirs: after(other), mine: after(own)};
  });
}
