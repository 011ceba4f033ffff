// Breakdown: the audience by one, two or three fields, as bars, a shaded table or several of them.

import {currentAudience} from '../core/audience.js';
import {audiencePath, call} from '../core/client.js';
import {h, replace} from '../core/dom.js';
import {emptyPanel} from '../core/panels.js';
import {Screen} from '../core/screen.js';
import {session} from '../core/session.js';
import {number, percent, t, timeOfDay} from '../core/text.js';
import {fieldGroups, isDiscrete} from '../filter/fields.js';
import {fieldLabel, valueLabel, valueText} from '../filter/labels.js';
import {audienceLine} from '../filter/summary.js';
import {fieldsOf, treeOf} from '../filter/tree.js';
import {bars} from '../parts/bars.js';
import {pictureActions, table} from '../parts/table.js';
import {toast} from '../parts/toast.js';
import {barsPicture, othersOf} from './breakdown/picture.js';
import {pivot, pivots} from './breakdown/pivot.js';

/** The chosen fields, kept while the page is open. */
let chosen = ['systemName'];
/** So many bars show at first. */
const barsMax = 25;

class BreakdownScreen extends Screen {
  start() {
    this.line = h('div', {});
    this.result = h('div', {});
    this.append(
      this.heading(t('nav.breakdown'), t('breakdown.lead')), this.line,
      h('div', {class: 'card row', role: 'group', 'aria-label': t('breakdown.by')},
        [0, 1, 2].map((index) => this.#select(index))),
      this.result);
    this.#showChosen();
    this.#ask();
  }

  #select(index) {
    return h('label', {}, t(`breakdown.by${index}`), h('select', {
      value: chosen[index] ?? '', onchange: (event) => {
        const fields = [0, 1, 2].map((other) => (other === index ? event.target.value : chosen[other]));
        chosen = [...new Set(fields.filter(Boolean))];
        this.#showChosen();
        this.#ask();
      },
    },
    index > 0 ? h('option', {value: ''}, t('breakdown.nothing')) : null,
    Object.entries(fieldGroups).map(([group, fields]) => h(
      'optgroup', {label: t(`fields.${group}`)},
      fields.filter(isDiscrete).map((field) => h('option', {value: field}, fieldLabel(field)))))));
  }

  /** A field that another list has cannot be chosen: arrow keys pass it. */
  #showChosen() {
    this.querySelectorAll('label select').forEach((select, index) => {
      select.value = chosen[index] ?? '';
      for (const option of select.options) {
        option.disabled = option.value !== '' && option.value !== select.value && chosen.includes(option.value);
      }
    });
  }

  #ask() {
    const fields = chosen;
    replace(this.line, audienceLine(() => this.#ask()));
    const body = currentAudience.body({by: fields, limit: fields.length === 1 ? 200 : 1000});
    this.load(
      this.result,
      async (signal) => (await call('POST', audiencePath(session.app, 'breakdown'), {body, signal})).data,
      (response) => this.#show(fields, response));
  }

  #show(fields, response) {
    const asked = [...fields, ...fieldsOf(treeOf(currentAudience.filter))];
    const note = currentAudience.include === 'reachable' && asked.includes('authorizationStatus') &&
      h('p', {class: 'note'}, t('fault.excluded-by-reachable'));
    if (response.groups.length === 0) return [note, emptyPanel(t('breakdown.empty'), t('breakdown.emptyText'))];
    return [
      note,
      h('p', {class: 'row'},
        h('b', {}, t('breakdown.total', {n: response.total})),
        h('span', {class: 'hint'}, t('audience.asOf', {time: timeOfDay(response.asOf)})),
        response.overlapping ? h('span', {class: 'hint'}, t('breakdown.overlapping')) : null,
        h('span', {class: 'spacer'}), this.#actions(fields, response)),
      h('div', {class: 'card picture'}, this.#picture(fields, response)),
      h('details', {class: 'card'}, h('summary', {}, t('breakdown.table')), this.#table(fields, response)),
    ];
  }

  #picture(fields, response) {
    const add = (values) => this.#add(fields, values);
    const {groups, ...context} = response;
    switch (fields.length) {
      case 1: return this.#bars(fields[0], response);
      case 2: return pivot(fields, groups, {...context, add});
      default: return pivots(fields, groups, {...context, add});
    }
  }

  #bars(field, {groups, rest, total}) {
    const item = (group) => ({
      label: valueLabel(field, group[field]), count: group.count, muted: group[field] === null,
      title: t('breakdown.add'), onclick: () => this.#add([field], [group[field]]),
    });
    const label = t('breakdown.byField', {field: fieldLabel(field)});
    const draw = (max) => {
      const others = othersOf(groups.slice(max), rest);
      const items = groups.slice(0, max).map(item);
      if (others.groups > 0) {
        items.push({label: t('breakdown.others', {n: others.groups}), count: others.count, muted: true});
      }
      return bars(items, {total, label});
    };
    if (groups.length <= barsMax) return draw(barsMax);
    const frame = h('div', {}, draw(barsMax), h('button', {
      type: 'button', class: 'link', onclick: () => replace(frame, draw(groups.length)),
    }, t('breakdown.showAll', {n: groups.length})));
    return frame;
  }

  /** A click on a picture narrows the audience. */
  #add(fields, values) {
    const condition = fields.map((field, index) => [field, values[index] === null ? {exists: false} : values[index]]);
    currentAudience.add(Object.fromEntries(condition));
    toast(t('breakdown.added', {values: fields.map((field, index) => valueText(field, values[index])).join(', ')}));
    this.#ask();
  }

  #actions(fields, response) {
    const name = `breakdown-${fields.join('-')}`;
    const header = [...fields, 'count', 'share'];
    const rows = () => response.groups.map((group) =>
      [...fields.map((field) => group[field]), group.count, Number((group.count / response.total).toFixed(6))]);
    return pictureActions(name, header, rows, () => barsPicture(fields, response));
  }

  #table(fields, {groups, rest, total}) {
    const rows = rest.groups > 0 ? [...groups, {isRest: true, count: rest.count}] : groups;
    return table({
      caption: t('breakdown.byField', {field: fields.map(fieldLabel).join(' · ')}), captionHidden: true, rows,
      columns: [
        ...fields.map((field, index) => ({
          title: fieldLabel(field),
          cell: (group) => {
            if (!group.isRest) return valueLabel(field, group[field]);
            return index === 0 ? t('breakdown.others', {n: rest.groups}) : '';
          },
        })),
        {title: t('breakdown.count'), numeric: true, cell: (group) => number(group.count)},
        {title: t('breakdown.share'), numeric: true, cell: (group) => percent(group.count / total)},
      ],
    });
  }
}

customElements.define('breakdown-screen', BreakdownScreen);
