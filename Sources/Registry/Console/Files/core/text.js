// The language of the page: catalogues, and numbers, dates and names by `Intl`.
//
//     t('audience.rows', {n: 3})           a string: "3 rows"
//     parts('lookup.owner', {user: node})  an array of strings and nodes, as children of h()
//
// The catalogue is `text/*.js`: flat objects of `section.name` to `[English, German]`, or to one text for both.
// `{name}` is replaced by a value; numbers are formatted. Of a pair `[one, other]` the plural of `n` chooses.

import {now} from './client.js';
import {audienceTexts} from '../text/audience.js';
import {filterTexts} from '../text/filter.js';
import {frameTexts} from '../text/frame.js';
import {lookupTexts} from '../text/lookup.js';
import {messageTexts} from '../text/message.js';
import {operationsTexts} from '../text/operations.js';

const languages = ['en', 'de'];
export const catalogue = {
  ...frameTexts, ...filterTexts, ...audienceTexts, ...messageTexts, ...lookupTexts, ...operationsTexts,
};

/** The language of the page: the person's choice, else the first of the browser's that exists here. */
export const language = chosen() ?? languages[0];

const regional = navigator.languages.find((name) => name.toLowerCase().split('-')[0] === language) ?? language;
const numbers = new Intl.NumberFormat(regional);
const changes = new Intl.NumberFormat(regional, {signDisplay: 'exceptZero'});
const decimals = new Intl.NumberFormat(regional, {minimumFractionDigits: 1, maximumFractionDigits: 1});
const percents = new Intl.NumberFormat(
  regional, {style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1});
const plurals = new Intl.PluralRules(regional);
const dateTimes = new Intl.DateTimeFormat(regional, {dateStyle: 'medium', timeStyle: 'short'});
const dates = new Intl.DateTimeFormat(regional, {dateStyle: 'medium'});
const times = new Intl.DateTimeFormat(regional, {timeStyle: 'medium'});
const relatives = new Intl.RelativeTimeFormat(regional, {numeric: 'auto'});
const [lists, choices] = ['conjunction', 'disjunction'].map((type) => new Intl.ListFormat(regional, {type}));
const displayNames = {};

export function t(key, values = {}) {
  return parts(key, values).join('');
}

/** A text with nodes as values. */
export function parts(key, values = {}) {
  let text = catalogue[key];
  if (text === undefined) throw new Error(`no text ${key}`);
  if (Array.isArray(text)) text = text[languages.indexOf(language)];
  if (Array.isArray(text)) text = text[plurals.select(values.n) === 'one' ? 0 : 1];
  return text.split(/\{(\w+)\}/).map((part, index) => {
    if (index % 2 === 0) return part;
    const value = values[part];
    return typeof value === 'number' ? number(value) : value ?? '';
  });
}

/** Whether the catalogue has a text, for names that the service may add to. */
export function hasText(key) {
  return key in catalogue;
}

export const number = (value) => numbers.format(value);
/** With its sign. */
export const change = (value) => changes.format(value);
/** With one decimal, for rates. */
export const decimal = (value) => decimals.format(value);
/** @param share 0 to 1. What would round to nothing is "<0.1 %", and to all ">99.9 %". */
export function percent(share) {
  if (share > 0 && share < 0.0005) return `<${percents.format(0.001)}`;
  return share < 1 && share >= 0.9995 ? `>${percents.format(0.999)}` : percents.format(share);
}
/** "a, b and c" */
export const list = (texts) => lists.format(texts);
/** "a, b or c" */
export const anyOf = (texts) => choices.format(texts);
/** What spreadsheets of this language expect between cells: the comma is elsewhere the decimal separator. */
export const cellSeparator = decimal(0.5).includes(',') ? ';' : ',';
/** Times are RFC 3339 texts or Dates; they are shown in the viewer's time zone. */
export const dateTime = (time) => dateTimes.format(new Date(time));
export const date = (time) => dates.format(new Date(time));
export const timeOfDay = (time) => times.format(new Date(time));

/** "3 minutes ago", "in 2 days" */
export function relative(time) {
  const seconds = (new Date(time) - now()) / 1000;
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ['second', 1];
  return relatives.format(Math.round(seconds / length), unit);
}
const units = [['year', 31_557_600], ['month', 2_629_800], ['day', 86_400], ['hour', 3_600], ['minute', 60]];

export const regionName = (code) => displayName('region', code);
export const languageName = (code) => displayName('language', code.replaceAll('_', '-'));

/** Whether the browser has what the page needs. It may forbid storage, and with it the session's cookie. */
export function isSupported() {
  try {
    return Boolean(Map.groupBy && AbortSignal.any && localStorage && sessionStorage);
  } catch {
    return false;
  }
}

/** Another language is shown after the page is loaded again. */
export function chooseLanguage(name) {
  localStorage.setItem('language', name);
  location.reload();
}

function displayName(type, code) {
  try {
    displayNames[type] ??= new Intl.DisplayNames(regional, {type, fallback: 'none'});
    return displayNames[type].of(code) ?? null;
  } catch {
    return null;
  }
}

function chosen() {
  const wanted = [isSupported() && localStorage.getItem('language'), ...navigator.languages];
  return wanted.map((name) => String(name).toLowerCase().split('-')[0]).find((name) => languages.includes(name));
}
