import type { MemberKind } from './members.ts';

/*
 * A second reading of the members of an answer, made from the table of issue 47 and from nothing in `src`: what a value
 * means for its kind.
 */

/**
 * Meaning of a value. `read`: what it stands for, in the form that the sandbox sends. `either`: it may be taken for that, or
 * for unreadable. `unjudged`: nobody decides by it.
 */
export type Reading =
  | { readonly is: 'read' | 'either'; readonly as: unknown }
  | { readonly is: 'absent' | 'unreadable' | 'unjudged' };

const unreadable: Reading = { is: 'unreadable' };
const read = (as: unknown): Reading => ({ is: 'read', as });
const either = (as: unknown): Reading => ({ is: 'either', as });

/** Returns the meaning of a value for a kind of member. */
export function readingOf(kind: MemberKind, value: unknown): Reading {
  return value === null || value === undefined ? { is: 'absent' } : readers[kind](value);
}

const readers: Readonly<Record<MemberKind, (value: unknown) => Reading>> = {
  flag,
  published: (value) => (typeof value === 'string' ? publishedWord(value) : flag(value)),
  places: (value) => whole(value, (count) => Math.max(count, 0)),
  limit: (value) => whole(value, (count) => (count < 0 ? null : count)),
  money,
  time,
  zone,
  identifier,
  date: (value) => (typeof value === 'string' && isDate(value) ? read(value) : dateIn(value)),
  currency: (value) =>
    typeof value === 'string' && /^[a-z]{3}$/i.test(value) ? read(value.toUpperCase()) : unreadable,
  'sale-status': saleStatus,
  credit,
  address: (value) => (typeof value === 'string' && URL.canParse(value) ? read(value) : text(value)),
  measure: (value) => {
    const decimal = decimalOf(value);
    return decimal === null ? unreadable : typeof value === 'number' ? read(value) : either(Number(decimal));
  },
  text,
  object: (value) => (isObject(value) ? { is: 'unjudged' } : unreadable),
  list: (value) => (Array.isArray(value) ? { is: 'unjudged' } : unreadable),
};

function flag(value: unknown): Reading {
  if (value === true || value === 1) return read(true);
  if (value === false || value === 0) return read(false);
  if (typeof value !== 'string') return unreadable;
  const word = value.toLowerCase();
  if (['true', 'yes', '1'].includes(word)) return word === '1' ? either(true) : read(true);
  if (['false', 'no', '0'].includes(word)) return word === '0' ? either(false) : read(false);
  return unreadable;
}

function publishedWord(value: string): Reading {
  const reading = flag(value);
  if (reading.is !== 'unreadable') return reading;
  return /^(un|not[ _-]?)published$|^(hidden|withdrawn|removed|deleted|private|draft)$/i.test(value)
    ? read(false)
    : /^published$|^active$|^visible$/i.test(value)
      ? read(true)
      : unreadable;
}

function whole(value: unknown, meant: (count: number) => number | null): Reading {
  const decimal = decimalOf(value);
  if (decimal === null) return unreadable;
  const count = Number(decimal);
  if (!Number.isInteger(count) || Math.abs(count) > 1_000_000) return unreadable;
  const plain = typeof value === 'number' || /^-?\d+$/.test(String(value));
  const as = meant(count);
  return as === null ? unreadable : plain ? read(as) : either(as);
}

function money(value: unknown): Reading {
  const decimal = decimalOf(value);
  if (decimal === null) return unreadable;
  const minor = Number(decimal) * 100;
  const nearest = Math.round(minor);
  if (nearest < 0 || nearest > 1e9) return unreadable;
  const exact =
    typeof value === 'number'
      ? Math.abs(minor - nearest) < 1e-9 * Math.max(1, nearest)
      : /^\d+(\.\d{1,2})?0*$/.test(decimal);
  return exact ? read(nearest / 100) : unreadable;
}

/** Returns the decimal digits of a number, or of a text that is nothing else; null: it is no number. */
function decimalOf(value: unknown): string | null {
  if (JSON.isRawJSON(value)) return /^-?\d+(\.\d+)?$/.test(value.rawJSON) ? value.rawJSON : null;
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : null;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? value : null;
}

function time(value: unknown): Reading {
  if (typeof value !== 'string') return unreadable;
  if (value === 'whole_day') return read(value);
  const [, hour = '', minute = '', half] = /^(\d{1,2}):(\d{2})(?::00)?(?: ?([AP]M))?$/i.exec(value) ?? [];
  if (hour === '') return /^\d{1,2}:\d{2}(:\d{2})?([+-]\d{2}:\d{2}|Z)$/.test(value) ? { is: 'unjudged' } : unreadable;
  const twelve = half !== undefined;
  const hours = twelve ? (Number(hour) % 12) + (half.toUpperCase() === 'PM' ? 12 : 0) : Number(hour);
  if (Number(minute) > 59 || hours > 24 || (twelve && Number(hour) > 12) || (hours === 24 && minute !== '00'))
    return unreadable;
  // The next day's: it is no other time of its own date.
  if (hours === 24) return { is: 'unjudged' };
  return read(`${String(hours).padStart(2, '0')}:${minute}`);
}

function zone(value: unknown): Reading {
  if (value === '') return { is: 'absent' };
  if (typeof value !== 'string') return unreadable;
  const known = Intl.supportedValuesOf('timeZone').find((name) => name.toLowerCase() === value.toLowerCase());
  return known === undefined ? unreadable : read(known);
}

function identifier(value: unknown): Reading {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  return /^[1-9]\d{0,14}$/.test(text) ? read(Number(text)) : unreadable;
}

function isDate(value: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(value) && new Date(`${value}T00:00Z`).toJSON()?.startsWith(value) === true;
}

function dateIn(value: unknown): Reading {
  const date = typeof value === 'string' ? value.slice(0, 10) : '';
  return isDate(date) ? either(date) : unreadable;
}

function saleStatus(value: unknown): Reading {
  if (value === 'available' || value === 'unavailable') return read(value);
  const word = typeof value === 'string' ? value.toLowerCase() : '';
  return word === 'available' || word === 'unavailable' ? either(word) : unreadable;
}

function credit(value: unknown): Reading {
  if (typeof value === 'string') return value.trim() === '' ? { is: 'absent' } : read(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return either(null);
    const names = value.map(credit);
    return names.every(({ is }) => is === 'read')
      ? read(names.map((each) => ('as' in each ? each.as : '')).join(', '))
      : unreadable;
  }
  if (!isObject(value)) return unreadable;
  const { name } = value as { name?: unknown };
  return typeof name === 'string' && name.trim() !== '' ? read(name) : unreadable;
}

function text(value: unknown): Reading {
  return typeof value === 'string' ? read(value) : typeof value === 'number' ? either(String(value)) : unreadable;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}
