import { isDate, knownZone } from '../kernel/time/venue.ts';
import { decimalText, isMembers, type Members, nearestNumber } from '../kernel/values/exact-json.ts';
import { identifier as idOf } from '../kernel/values/identifier.ts';
import { minorUnits, minorUnitsIn } from '../kernel/values/money.ts';

/*
 * The members of the service's rows, by what they state. Reading a member has three outcomes: absent (null or missing),
 * read, or there and unreadable. An unreadable value is never taken for the one that permits most.
 */

/** Stands for a value that is there and cannot be read. Null stands for none. */
export const unreadable: unique symbol = Symbol('unreadable');

/** Result of reading a value. */
export type MemberOutcome<Value> = Value | null | typeof unreadable;

/** Reads an amount in the currency of an answer; null if the answer has it in another one. */
export type ReadAmount = (value: unknown) => MemberOutcome<number>;

/** Values of members that depend on more than the value: the currency of amounts, and the hosts of published addresses. */
export interface AnswerContext {
  readonly amount: ReadAmount;
  readonly mayPublish: (url: string) => boolean;
}

/** Names values that can be read and that a person has to know of. They fail no read. */
interface Remark<Value> {
  /** Stands behind the member in brackets: `price (below zero)`. */
  readonly why: string;
  concerns(value: Value, context: AnswerContext): boolean;
  readonly meanwhile: string;
  /** Replaces such a value; undefined: it is used. */
  readonly instead?: Value | null;
}

interface Terms<Value> {
  /** The kind of its value, in one word for tables. */
  readonly form: string;
  /** What it states, for people; null: its name says it. */
  readonly states: string | null;
  /** Used in place of an unreadable value. */
  readonly otherwise: Value | null;
  /** What happens meanwhile if it cannot be read. */
  readonly meanwhile: string;
  /** False: a service need not have it, so nobody misses it. */
  readonly expected: boolean;
  /** True: without it the row cannot be used. */
  readonly isNeeded: boolean;
  /** True: where it cannot be read, nobody knows how much of its date can be bought. */
  readonly isCount: boolean;
  /** True: `probe` names the rows that leave it out, and a list that is always empty. */
  readonly isMissed: boolean;
  /** True: an answer without a readable value of it is a failed read if an earlier one had some, even of one record. */
  readonly isKept: boolean;
  /** Other names under which services send it. */
  readonly aliases: readonly string[];
  readonly remark: Remark<Value> | null;
}

/** Declares a member of a row. `Absent` is null, or never if the member is needed. */
export class Member<Value, Absent extends null = null> {
  readonly terms: Terms<Value>;
  readonly #read: (value: unknown, context: AnswerContext) => MemberOutcome<Value>;
  /** True: a value that was read, or none, is all there is to it. */
  readonly isPlain: boolean;
  /** Only a type: the value of an absent member. */
  declare readonly absent: Absent;

  constructor(
    read: (value: unknown, context: AnswerContext) => MemberOutcome<Value>,
    terms: Partial<Terms<Value>> & { readonly form: string },
  ) {
    this.#read = read;
    this.terms = { ...usual, ...terms };
    const { aliases, isNeeded, isKept, remark, form } = this.terms;
    this.isPlain = aliases.length === 0 && !isNeeded && !isKept && remark === null && form !== 'ids';
  }

  /** Reads a value. Amounts need a reader with a currency. */
  read(value: unknown, context: AnswerContext = noContext): MemberOutcome<Value> {
    return value === null || value === undefined ? null : this.#read(value, context);
  }

  /** Returns the remark about a value that was read; null: there is none. */
  remarkOn(value: Value, context: AnswerContext = noContext): Remark<Value> | null {
    const { remark } = this.terms;
    return remark?.concerns(value, context) === true ? remark : null;
  }

  /** Without it the row cannot be used. */
  get needed(): Member<Value, never> {
    return this.#with({ isNeeded: true, meanwhile: 'the read fails' }) as unknown as Member<Value, never>;
  }

  /** A service may leave it out. */
  get optional(): this {
    return this.#with({ expected: false });
  }

  /** Rows that leave it out, or null, are told as well: what stands in for it lasts only a while. */
  get missed(): this {
    return this.#with({ isMissed: true });
  }

  /** States something, in words for people. */
  says(states: string): this {
    return this.#with({ states });
  }

  /** Replaces an unreadable value, which must never be the permissive one. */
  instead(otherwise: Value, meanwhile: string): this {
    return this.#with({ otherwise, meanwhile });
  }

  /** Where no value in an answer can be read, and an earlier one could be, is a failed read: it would close what is shown. */
  get kept(): this {
    return this.#with({ isKept: true });
  }

  /** Is what happens while it cannot be read. */
  meanwhile(meanwhile: string): this {
    return this.#with({ meanwhile });
  }

  /** Values of one kind are named to people. */
  names(remark: Remark<Value>): this {
    return this.#with({ remark });
  }

  /** Services also send it under another name. */
  or(...aliases: readonly string[]): this {
    return this.#with({ aliases });
  }

  #with(terms: Partial<Terms<Value>>): this {
    return new Member(this.#read, { ...this.terms, ...terms }) as this;
  }
}

const usual: Terms<never> = {
  form: '',
  states: null,
  otherwise: null,
  meanwhile: 'it is NULL',
  expected: true,
  isNeeded: false,
  isCount: false,
  isMissed: false,
  isKept: false,
  aliases: [],
  remark: null,
};

const noContext: AnswerContext = { amount: () => unreadable, mayPublish: () => false };

/** A positive integer, in any form that the service sends. */
export const identifier = new Member((value) => idOf(value) ?? unreadable, { form: 'id' });

/** Text as it is sent. */
export const text = new Member<string>((value) => (typeof value === 'string' ? value : unreadable), { form: 'text' });

const trueWords: ReadonlySet<string> = new Set(['true', '1', 'yes', 'y', 'on', 't']);
const falseWords: ReadonlySet<string> = new Set(['false', '0', 'no', 'n', 'off', 'f']);

function flagOf(value: unknown): MemberOutcome<boolean> {
  const word = wordOf(value);
  if (trueWords.has(word)) return true;
  return falseWords.has(word) ? false : unreadable;
}

/** Returns a value as one word in lower case; empty for what is none. */
function wordOf(value: unknown): string {
  const plain = nearestNumber(value);
  return typeof plain === 'object' ? '' : String(plain).trim().toLowerCase();
}

/** True or false, in any spelling. */
export const flag = new Member(flagOf, { form: 'flag' });

/** A finite number of something measured, also as text. Never money. */
export const measure = new Member<number>(
  (value) => {
    const decimal = typeof value === 'string' && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
    const number = nearestNumber(decimal);
    return typeof number === 'number' && Number.isFinite(number) ? number : unreadable;
  },
  { form: 'number' },
);

/** A whole number, also as text. */
export const integer = new Member<number>(
  (value) => {
    const number = measure.read(value);
    return Number.isSafeInteger(number) ? number : unreadable;
  },
  { form: 'integer' },
);

const meanwhileUncounted = 'no number is shown, its dates are stale and checked before a sale';

/** A number of tickets. Zero or less is none. */
export const count = new Member<number>(
  (value) => {
    const number = integer.read(value);
    return typeof number === 'number' ? Math.max(number, 0) : unreadable;
  },
  { form: 'count', isCount: true, meanwhile: meanwhileUncounted },
);

/** A limit of tickets. Below zero it is no limit that can be read: some services mean "none" by -1, others "any". */
export const limit = new Member<number>(
  (value) => {
    const number = integer.read(value);
    return typeof number === 'number' && number >= 0 ? number : unreadable;
  },
  { form: 'limit', isCount: true, meanwhile: meanwhileUncounted },
);

/** An amount in minor units of the currency asked for. */
export const money = new Member<number>((value, { amount }) => amount(value), {
  form: 'money',
  meanwhile: 'no price is shown, and a check does not say that it holds',
});

/** Names amounts that nobody can pay. */
export const belowZero = 'below zero';
const isBelowZero = (amount: number) => amount < 0;

/** A price of a whole product. Below zero it is none. */
export const price = money.names({
  why: belowZero,
  concerns: isBelowZero,
  meanwhile: 'no price is shown',
  instead: null,
});

/** The price of an offer. It stays below zero, so that the offer is not sold. */
export const retailPrice = money.names({ why: belowZero, concerns: isBelowZero, meanwhile: 'the offer is not sold' });

/** Stands for an address that is not handed on. */
export const refusedAddress = 'about:blank';
/** Names addresses that are not handed on. */
export const notPublic = 'not public';

/** An address that browsers fetch. Empty text is none. */
export const address = new Member<string>((value) => (typeof value === 'string' ? value || null : unreadable), {
  form: 'text',
  otherwise: refusedAddress,
  meanwhile: 'the image is hidden',
  expected: false,
}).names({
  why: notPublic,
  concerns: (url, { mayPublish }) => !mayPublish(url),
  meanwhile: 'the image is hidden',
  instead: refusedAddress,
});

/** A currency: three letters, in any case. */
export const currency = new Member<string>(
  (value) => (typeof value === 'string' && /^[a-z]{3}$/i.test(value.trim()) ? value.trim().toUpperCase() : unreadable),
  { form: 'currency', meanwhile: 'no price beside it is shown' },
);

/** A date of the calendar; one with midnight behind it too. */
export const date = new Member<string>(
  (value) => {
    const day =
      typeof value === 'string' ? value.trim().replace(/[T ]00:00(:00(\.0+)?)?(Z|[+-]\d\d:?\d\d)?$/, '') : value;
    return isDate(day) ? day : unreadable;
  },
  { form: 'date' },
);

/** The minute that stands for the whole day, for midnight at its end, and for a time that cannot be read. */
const wholeDay = -1;
export const endOfDay = 24 * 60;
export const noTime = -2;

const clock =
  /^(?:(\d{4}-\d\d-\d\d)[T ])?T?(\d{1,2}):(\d\d)(?::[0-5]\d(?:\.\d+)?)?\s*(?:([ap])\.?m\.?)?\s*(z|[+-]\d\d(?::?\d\d)?)?$/i;
const hourOnly = /^(\d{1,2})\s*([ap])\.?m\.?$/i;

/** A time of day at the venue, in minutes since midnight: `wholeDay`, or up to `endOfDay`. */
export const time = new Member<number>(
  (value) => {
    if (typeof value !== 'string') return unreadable;
    const sent = value.trim();
    if (/^(whole|all|full)[\s_-]?day$/i.test(sent)) return wholeDay;
    const [, , hour = '', minute = '', half] = clock.exec(sent) ?? [];
    const [, onlyHour, onlyHalf] = hourOnly.exec(sent) ?? [];
    return minuteOf(
      Number(onlyHour ?? (hour || Number.NaN)),
      Number(onlyHour === undefined ? minute : 0),
      onlyHalf ?? half,
    );
  },
  { form: 'time', meanwhile: 'the timeslot is not sold' },
);

function minuteOf(hour: number, minute: number, half: string | undefined): MemberOutcome<number> {
  if (!(minute < 60)) return unreadable;
  if (half === undefined) {
    const at = hour * 60 + minute;
    return at <= endOfDay ? at : unreadable;
  }
  if (!(hour <= 12)) return unreadable;
  const isAfternoon = half.toLowerCase() === 'p';
  if (hour === 0 && isAfternoon) return unreadable;
  return ((hour % 12) + (isAfternoon ? 12 : 0)) * 60 + minute;
}

/** Returns what a time says beside the clock: its date, and its offset from UTC in minutes; null: it says nothing of it. */
export function besideClock(value: unknown): { readonly date: string | null; readonly offset: number | null } {
  const [, day = null, , , , zone] = clock.exec(String(value).trim()) ?? [];
  if (zone === undefined) return { date: day, offset: null };
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  return { date: day, offset: sign === undefined ? 0 : Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) };
}

/** A time zone by its IANA name, in any case. */
export const zone = new Member<string>(
  (value) => (typeof value === 'string' && value.trim() === '' ? null : (knownZone(value) ?? unreadable)),
  { form: 'zone', meanwhile: 'the zone of the product counts, else that of most products of its city' },
);

/** A word with a closed list of meanings. */
export function words<Meaning extends string>(meanings: Readonly<Record<string, Meaning>>): Member<Meaning> {
  const known = new Map(Object.entries(meanings));
  return new Member<Meaning>((value) => known.get(wordOf(value)) ?? unreadable, { form: 'word' });
}

/** A state as one word in lower case, whatever else the text holds. */
export const stateWord = new Member<string>(
  (value) => {
    const plain = typeof value === 'string' ? value.toLowerCase() : '';
    const word = plain
      .replace(/[^a-z0-9_-]+/g, ' ')
      .trim()
      .slice(0, 40);
    return word === '' ? unreadable : word;
  },
  { form: 'word', meanwhile: 'it counts as not working' },
);

/** A list of ids. One that is none is left out. */
export const identifiers = new Member<readonly number[]>(
  (value) => {
    if (!Array.isArray(value)) return unreadable;
    const ids = value.map(idOf).filter((id) => id !== null);
    return ids.length === 0 && value.length > 0 ? unreadable : [...new Set(ids)];
  },
  { form: 'ids' },
);

export const list = new Member<readonly unknown[]>((value) => (Array.isArray(value) ? value : unreadable), {
  form: 'list',
});

export const object = new Member<Members>((value) => (isMembers(value) ? value : unreadable), { form: 'object' });

/** An address of a street: an object, or its street as text. */
export const postal = new Member<Members>(
  (value) => (typeof value === 'string' ? { street: value } : object.read(value)),
  {
    form: 'address',
  },
);

const creditNames = ['name', 'text', 'credit', 'author', 'photographer', 'title'] as const;

/** Whom an image has to name: text, an object with a name, or a list of these. Blank text is none. */
export const credit = new Member<string>((value) => creditOf(value, 2), {
  form: 'credit',
  meanwhile: 'the image is hidden',
});

function creditOf(value: unknown, depth: number): MemberOutcome<string> {
  if (value === null) return null;
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (depth === 0) return unreadable;
  if (Array.isArray(value)) {
    const all = value.map((each) => creditOf(each, depth - 1));
    if (all.includes(unreadable) || (all.length > 0 && all.every((each) => each === null))) return unreadable;
    return all.filter((each) => each !== null).join(', ') || null;
  }
  if (!isMembers(value)) return unreadable;
  const names = creditNames.map((name) => value[name]).filter((name) => name != null);
  return names.length === 0 ? unreadable : creditOf(names[0], depth - 1);
}

const withdrawing: ReadonlySet<string> = new Set([
  'unpublished', 'hidden', 'withdrawn', 'removed', 'deleted', 'draft', 'archived', 'inactive', 'disabled', 'private',
  'expired', 'rejected', 'revoked', 'suspended', 'embargoed', 'blocked', 'pending', 'offline', 'invisible', 'unlisted',
  'taken_down', 'takedown', 'retracted', 'not_published', 'unavailable',
]); // biome-ignore format: words
const permitting: ReadonlySet<string> = new Set([
  'published', 'visible', 'public', 'active', 'enabled', 'approved', 'available', 'live', 'online', 'listed', 'ok',
]); // biome-ignore format: words

/** Whether an image may be shown: a flag, or a word. `unknown`: a word that nobody knows, which hides nothing. */
export const shown = new Member<boolean | 'unknown'>(
  (value) => {
    const word = wordOf(value).replace(/[\s-]+/g, '_');
    const said = flagOf(value);
    if (said !== unreadable) return said;
    if (withdrawing.has(word)) return false;
    if (permitting.has(word)) return true;
    return typeof value === 'string' && word !== '' ? 'unknown' : unreadable;
  },
  {
    form: 'shown',
    otherwise: false,
    meanwhile: 'the image is hidden',
    expected: false,
  },
).names({ why: 'unknown word', concerns: (said) => said === 'unknown', meanwhile: 'nothing is hidden for it' });

/** The reverse of `shown`: an image may be shown where this flag is false. */
export const hidden = new Member<boolean>(
  (value) => {
    const said = flagOf(value);
    return said === unreadable ? unreadable : !said;
  },
  { form: 'flag', otherwise: false, meanwhile: 'the image is hidden', expected: false },
);

/** Returns the reader of amounts in a currency: exact in its minor unit, or unreadable. */
export function amountsIn(code: string): ReadAmount {
  const ofNumber = minorUnitsIn(code);
  return (value) => {
    if (typeof value === 'number') return ofNumber(value) ?? unreadable;
    if (typeof value === 'string') return minorUnits(value.trim(), code) ?? unreadable;
    const printed = decimalText(value);
    return printed === null ? unreadable : (minorUnits(printed, code) ?? ofNumber(Number(printed)) ?? unreadable);
  };
}
