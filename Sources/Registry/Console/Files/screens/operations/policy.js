// The policy of the app as a form. Saving shows the difference first; a change of somebody else's is shown, and never
// overwritten unseen.

import {Problem, appPath, call} from '../../core/client.js';
import {foreign, h, replace} from '../../core/dom.js';
import {failureText} from '../../core/panels.js';
import {session} from '../../core/session.js';
import {hasText, number, t} from '../../core/text.js';
import {valueText as wordsOf} from '../../filter/labels.js';
import {dialog} from '../../parts/dialog.js';
import {changeTable, section} from '../../parts/facts.js';
import {button, choice, field} from '../../parts/form.js';
import {toast} from '../../parts/toast.js';

export function policyPage(screen) {
  const place = h('div');
  const read = (signal) => call('GET', appPath(session.app), {signal});
  const form = new PolicyForm(place, read, screen.signal);
  screen.load(place, read, ({data, etag}) => form.show(data, etag));
  return place;
}

class PolicyForm {
  /** The policy that the form began with, and its ETag. */
  #base = null;
  #etag = null;
  /** By path: `{member, read, fault}`. */
  #fields = new Map();

  constructor(place, read, signal) {
    Object.assign(this, {place, read, signal});
  }

  /** @param draft the values in the controls, if they are not those of `base` */
  show(base, etag, draft = base) {
    this.#base = base;
    this.#etag = etag;
    return h(
      'form', {
        novalidate: true, oninput: ({currentTarget}) => (currentTarget.isChanged = true),
        onsubmit: (event) => {
          event.preventDefault();
          this.#save();
        },
      },
      Object.entries(memberGroups).map(([group, members]) => section(
        t(`ops.group.${group}`), h('div', {class: 'members'}, members.map((member) => this.#field(member, draft))))),
      h('p', {class: 'actions'}, h('button', {class: 'primary'}, t('ops.review')),
        button(t('ops.discard'), () => replace(this.place, this.show(this.#base, this.#etag)))));
  }

  #field(member, draft) {
    const value = valueAt(draft, member.path);
    // The control of a member that is to be reset shows the stored value.
    const isReset = value === null && resettable.includes(member.kind);
    const editor = editors[member.kind](isReset ? valueAt(this.#base, member.path) : value, member);
    const {node, read} = resettable.includes(member.kind) ? withReset(editor, memberName(member), isReset) : editor;
    const hint = `ops.hint.${member.path}`;
    const labelled = field(memberName(member), node, hasText(hint) ? t(hint) : null);
    this.#fields.set(member.path, {member, read, fault: labelled.fault});
    return labelled.node;
  }

  /** What the form changes; null if a control cannot be read. */
  #changes() {
    let draft = this.#base, isReadable = true;
    for (const {member, read, fault} of this.#fields.values()) {
      fault(null);
      try {
        draft = applied(draft, [{member, after: read()}]);
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
    if (changes.length === 0) return toast(t('dialog.noDifference'));
    const goesOn = await dialog({
      title: t('views.saveThis'),
      content: changeTable(changes.map(({member, before, after}) => [
        memberName(member), foreign(valueText(member, before)), foreign(valueText(member, after))])),
      actions: [{label: t('views.save'), value: true, kind: 'primary'}],
    });
    if (!goesOn) return;
    try {
      const {data, etag} = await call('PATCH', appPath(session.app), {
        body: patchOf(changes), ifMatch: this.#etag, signal: this.signal,
      });
      replace(this.place, this.show(data, etag));
      toast(t('ops.saved'));
    } catch (error) {
      if (this.signal.aborted) return;
      if (error instanceof Problem && error.status === 412) await this.#resolve(changes);
      else this.#refused(error);
    }
  }

  /** Shows each fault at its member, and the others in a toast. */
  #refused(error) {
    const others = (error.errors ?? []).filter(({pointer, detail}) => {
      const member = pointer && memberAt(pointer);
      if (member) this.#fields.get(member.path).fault(detail);
      return !member;
    });
    if (!error.errors?.length || others.length > 0) toast(failureText(error), 'error');
    this.#showFirstFault();
  }

  /** Somebody else has saved meanwhile: shows what changed, and puts the own changes on top of it if that is wanted. */
  async #resolve(mine) {
    try {
      const {data, etag} = await this.read(this.signal);
      const choice = await dialog({
        title: t('views.conflict'),
        content: [h('p', {}, t('ops.conflictText')), changeTable(
          conflictRows(differing(this.#base, data), mine), ['views.before', 'views.theirs', 'views.mine'])],
        actions: [
          {label: t('ops.keepMine'), value: 'mine', kind: 'primary'}, {label: t('ops.takeTheirs'), value: 'theirs'},
        ],
      });
      if (choice) replace(this.place, this.show(data, etag, choice === 'mine' ? applied(data, mine) : data));
    } catch (error) {
      if (!this.signal.aborted) toast(failureText(error), 'error');
    }
  }

  #showFirstFault() {
    this.place.querySelector('[aria-invalid="true"]')?.focus();
  }
}

/** The members that either side changed. */
function conflictRows(theirs, mine) {
  const all = [...theirs, ...mine.filter((change) => !theirs.some((other) => other.member === change.member))];
  const after = (changes, member) => {
    const change = changes.find((change) => change.member === member);
    return change ? foreign(valueText(member, change.after)) : '–';
  };
  return all.map(({member, before}) => [
    memberName(member), foreign(valueText(member, before)), after(theirs, member), after(mine, member)]);
}

// MARK: Members

const providers = ['apns', 'apnsSandbox', 'fcm', 'huawei', 'webPush'];
const of = (kind, paths, max) => paths.map((path) => ({path, kind, max}));

/** A member is named by its path. Its kind decides how it is edited, compared and shown. */
const memberGroups = {
  silence: of('duration', [...providers.map((provider) => `staleAfter.${provider}`), 'touchInterval', 'grace']),
  retention: of('duration', ['retention', 'receiptRetention', 'sessionTombstones']),
  privacy: [
    ...of('flag', ['storeAdvertisingId']), ...of('count', ['smallestGroup'], 1_000_000),
    ...of('count', ['notificationsMax'], 1_000), ...of('optionalCount', ['installationsPerUser'], 1_000),
    ...of('json', ['feedbackBreaker']),
  ],
  signIn: [
    ...of('text', ['jwksURL'], 2_048), ...of('json', ['jwks']),
    ...of('text', ['jwtIssuer', 'jwtAudience', 'sessionExpiryClaim'], 256), ...of('flag', ['allowIncompleteTokens']),
  ],
  access: [
    ...of('map', ['consoleGroups']), ...of('lines', ['allowedOrigins', 'webPushHosts']), ...of('limit', ['rateLimits.perKey', 'rateLimits.perAddress']),
  ],
};

export const members = Object.values(memberGroups).flat();

function memberName({path}) {
  const [name, provider] = path.split('.');
  return name === 'staleAfter' ? `${t('ops.staleAfter')}: ${wordsOf('provider', provider)}` : t(`ops.member.${path}`);
}

function valueAt(policy, path) {
  return path.split('.').reduce((value, name) => value?.[name] ?? null, policy);
}

/** @returns `[{member, before, after}]` of the members that differ */
export function differing(before, after) {
  return members
    .map((member) => ({member, before: valueAt(before, member.path), after: valueAt(after, member.path)}))
    .filter(({member, before, after}) => canonical(member, before) !== canonical(member, after));
}

/** A JSON Merge Patch (RFC 7396) with the new values. */
export function patchOf(changes) {
  const partial = (change) => (change.member.kind === 'map' ? {...change, after: mapPatch(change)} : change);
  return applied({}, changes.map(partial));
}

/** A member of an object stays in a patch, unless it is null. */
const mapPatch = ({before, after}) =>
  ({...Object.fromEntries(Object.keys(before ?? {}).map((name) => [name, null])), ...after});

/** A policy with some members changed. */
export function applied(policy, changes) {
  const copy = structuredClone(policy);
  for (const {member, after} of changes) {
    const [name, inner] = member.path.split('.');
    if (inner) (copy[name] ??= {})[inner] = after;
    else copy[name] = after;
  }
  return copy;
}

/** The member that a fault's pointer is about; undefined if it is about none. */
export function memberAt(pointer) {
  const path = `${pointer.slice(1).replaceAll('/', '.')}.`;
  return members.find((member) => path.startsWith(`${member.path}.`)) ??
    members.find((member) => member.path.startsWith(path));
}

/** Equal values have equal texts: the order of names in JSON says nothing. */
function canonical({kind}, value) {
  if (kind === 'duration' && value) return secondsOf(value);
  return JSON.stringify(value, (_, part) => (part && typeof part === 'object' && !Array.isArray(part)
    ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1))) : part));
}

// MARK: Controls

class Unreadable extends Error {}

const numeric = (value, props) => h('input', {type: 'number', min: 0, value: value ?? '', class: 'short', ...props});
const textual = (value, props) => h('input', {type: 'text', value: value ?? '', class: 'wide', ...props});
const area = (value) => h('textarea', {rows: 4, value, spellcheck: 'false'});

function whole(input) {
  if (!/^\d+$/.test(input.value)) throw new Unreadable(t('ops.notWhole'));
  return Number(input.value);
}

/** By kind: `(value, member) => {node, read}`. `read()` returns the JSON value, or throws `Unreadable`. */
const editors = {
  duration(value) {
    const {amount, unit} = amountOf(value);
    const input = numeric(amount);
    const select = choice(units.map((name) => [name, t(`ops.unit.${name}`, {n: 0})]), unit);
    select.setAttribute('aria-label', t('builder.unit'));
    return {node: h('div', {class: 'row'}, input, select), read: () => durationOf(whole(input), select.value)};
  },
  flag(value) {
    const node = h('input', {type: 'checkbox', checked: value === true});
    return {node, read: () => node.checked};
  },
  count(value, {max}) {
    const node = numeric(value, {min: 1, max});
    return {node, read: () => whole(node)};
  },
  optionalCount(value, {max}) {
    const node = numeric(value, {min: 1, max});
    return {node, read: () => (node.value === '' && !node.validity.badInput ? null : whole(node))};
  },
  text(value, {max}) {
    const node = textual(value, {maxlength: max});
    return {node, read: () => node.value.trim() || null};
  },
  lines(value) {
    const node = area(value.join('\n'));
    return {node, read: () => node.value.split('\n').map((line) => line.trim()).filter(Boolean)};
  },
  json(value) {
    const node = area(value ? JSON.stringify(value, null, 2) : '');
    return {node, read: () => {
      try {
        return node.value.trim() ? JSON.parse(node.value) : null;
      } catch (error) {
        throw new Unreadable(t('ops.notJSON', {reason: error.message}));
      }
    }};
  },
  /** A line for each name: the name, `=` and the value. */
  map(value) {
    const node = area(mapLines(value).join('\n'));
    return {node, read: () => Object.fromEntries(
      node.value.split('\n').filter((line) => line.trim()).map((line) => {
        const [, name, text] = /^(.+)=([^=]+)$/.exec(line) ?? [];
        if (!name) throw new Unreadable(t('ops.notMap'));
        return [name.trim(), text.trim()];
      }))};
  },
  limit(value) {
    const [rate, burst] = [numeric(value?.rate, {step: 'any'}), numeric(value?.burst, {'aria-label': t('ops.burst')})];
    return {node: h('div', {class: 'row'}, rate, t('ops.perSecond'), burst, t('ops.burst')), read: () => {
      if (!rate.value && !burst.value) return null;
      if (!rate.value || !burst.value) throw new Unreadable(t('ops.bothOrNone'));
      return {rate: Number(rate.value), burst: whole(burst)};
    }};
  },
};

const mapLines = (value) => Object.entries(value).map(([name, text]) => `${name} = ${text}`);

/** Kinds whose `null` is the service's default. For the others an empty control is. */
const resettable = ['duration', 'flag', 'count'];

/** Adds a button that resets the member: its value is then null, and its control says so by being disabled. */
function withReset({node, read}, name, isReset) {
  const controls = [node, ...node.querySelectorAll('input, select')];
  const reset = button(t('ops.default'), () => press(reset.getAttribute('aria-pressed') !== 'true'), 'quiet', name);
  const press = (isPressed) => {
    reset.setAttribute('aria-pressed', isPressed);
    for (const control of controls) control.disabled = isPressed;
  };
  press(isReset);
  return {
    node: h('div', {class: 'row'}, node, reset),
    read: () => (reset.getAttribute('aria-pressed') === 'true' ? null : read()),
  };
}

/** What a member's value says. */
function valueText({kind}, value) {
  if (value === null && resettable.includes(kind)) return t('ops.default');
  if (value === null || value.length === 0) return t('views.none');
  switch (kind) {
    case 'duration': {
      const {amount, unit} = amountOf(value);
      return `${number(amount)} ${t(`ops.unit.${unit}`, {n: amount})}`;
    }
    case 'flag': return t(`value.${value}`);
    case 'lines': return value.join(', ');
    case 'map': return mapLines(value).join(', ') || t('views.none');
    case 'limit': return `${number(value.rate)} ${t('ops.perSecond')} ${number(value.burst)} ${t('ops.burst')}`;
    case 'json': return JSON.stringify(value);
    default: return typeof value === 'number' ? number(value) : value;
  }
}

// MARK: Durations

const seconds = {weeks: 604_800, days: 86_400, hours: 3_600, minutes: 60, seconds: 1};
const units = Object.keys(seconds);

/** Of ISO 8601, weeks to seconds; null for a text that is no such duration. */
export function secondsOf(text) {
  const match = /^P(?=.*\d)(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  return match && units.reduce((sum, unit, index) => sum + Number(match[index + 1] ?? 0) * seconds[unit], 0);
}

/** `{amount, unit}` in the largest unit that gives a whole number; in weeks only what was written in weeks. */
export function amountOf(text) {
  const all = secondsOf(text);
  const unit = units.find((unit) => (unit !== 'weeks' || text.includes('W')) && all % seconds[unit] === 0);
  return {amount: all / seconds[unit], unit};
}

export function durationOf(amount, unit) {
  return `P${seconds[unit] < seconds.days ? 'T' : ''}${amount}${unit[0].toUpperCase()}`;
}
