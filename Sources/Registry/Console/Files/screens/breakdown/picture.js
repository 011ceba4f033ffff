// A breakdown as an SVG picture that looks the same everywhere: its colours and sizes stand in it.

import {svg} from '../../core/dom.js';
import {number, percent, t} from '../../core/text.js';
import {fieldLabel, valueText} from '../../filter/labels.js';

const line = 24, labelWidth = 260, barWidth = 360, width = 800, groupsMax = 40;

/** What groups that do not show have together. @param rest the groups that the service left out. */
export function othersOf(hidden, rest) {
  return {
    groups: hidden.length + rest.groups, count: hidden.reduce((sum, group) => sum + group.count, rest.count),
  };
}

/** The picture. */
export function barsPicture(fields, {groups, rest, total, asOf}) {
  const shown = groups.slice(0, groupsMax);
  const others = othersOf(groups.slice(groupsMax), rest);
  const items = shown.map((group) => ({
    label: fields.map((field) => valueText(field, group[field])).join(' · '), count: group.count,
  }));
  if (others.groups > 0) {
    items.push({label: t('breakdown.others', {n: others.groups}), count: others.count, muted: true});
  }
  const most = Math.max(...items.map((item) => item.count));
  const height = line * (items.length + 2);
  const title = t('breakdown.byField', {field: fields.map(fieldLabel).join(' · ')});
  return svg(
    'svg', {
      xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`,
      'font-family': 'sans-serif', 'font-size': 13,
    },
    svg('rect', {width, height, fill: '#fff'}),
    text(8, 17, `${title} · ${number(total)} · ${asOf}`, {'font-weight': 600}),
    items.map((item, index) => bar(item, (index + 1) * line + 8, most, total)));
}

function bar({label, count, muted}, y, most, total) {
  const short = label.length > 38 ? `${label.slice(0, 37)}…` : label;
  return [
    text(8, y + 13, short),
    svg('rect', {
      x: labelWidth, y: y + 2, width: Math.max(1, (count / most) * barWidth).toFixed(1), height: 14, rx: 2,
      fill: muted ? '#7d8b89' : '#0b6b5d',
    }),
    text(width - 88, y + 13, number(count), {'text-anchor': 'end'}),
    text(width - 12, y + 13, percent(count / total), {'text-anchor': 'end', fill: '#4f5e5c'}),
  ];
}

function text(x, y, content, props = {}) {
  return svg('text', {x, y, fill: '#15201f', ...props}, content);
}
