/*
 * JSON whose numbers survive a round trip as the service wrote them: 17.0 stays 17.0, and an id beyond 2^53 keeps its
 * digits, which JSON.parse alone would silently round.
 */

declare global {
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
    parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  }
}

/** A number that a JavaScript number cannot print back. `JSON.stringify` prints its text. */
export interface RawNumber {
  readonly rawJSON: string;
}

/**
 * A number that JavaScript may print otherwise, after what can stand before a value: with a zero at its end, an exponent or
 * sixteen digits, below 0.000001, or minus zero.
 */
const unlikeNumber =
  /((?:^|[:,[])\s*)(-?[0-9]+\.[0-9]*0|-?[0-9.]+[eE][-+]?[0-9]+|-?[0-9.]{16,}|-?0\.000000[0-9]+|-0)(?=\s*(?:[\],}]|$))/g;

/** Begins a string that stands for a number. Private use: no service writes it, and where one does, the slow way is taken. */
const mark = '\uE000';

/**
 * Parses JSON; a number that would be printed differently becomes a `RawNumber`. Throws a SyntaxError like JSON.parse.
 *
 * A reviver is told the text of each number, which takes ten times as long as JSON.parse. So those numbers are written as
 * marked strings first. Within a text this makes invalid JSON, as the mark would follow the text's own end; then, too, the
 * reviver decides.
 */
export function parseExact(text: string): unknown {
  if (text.includes(mark)) return parseSlowly(text);
  const marked = text.replace(unlikeNumber, `$1"${mark}$2"`);
  if (marked === text) return JSON.parse(text);
  try {
    return unmarked(JSON.parse(marked));
  } catch (error) {
    if (error instanceof SyntaxError) return parseSlowly(text);
    throw error;
  }
}

/** Does the same by a reviver, of any text. */
export function parseSlowly(text: string): unknown {
  return JSON.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? numberOf(source) : value,
  );
}

/** Replaces the marked strings by numbers, in place. */
function unmarked(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? numberOf(value.slice(1)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const name in members) {
    const member = members[name];
    if (typeof member === 'object' ? member !== null : typeof member === 'string') {
      const now = unmarked(member);
      if (now !== member) members[name] = now;
    }
  }
  return value;
}

/** Returns a number, or its text where JavaScript would print it otherwise. */
function numberOf(source: string): number | RawNumber {
  const value = Number(source);
  return String(value) === source ? value : JSON.rawJSON(source);
}

/**
 * Returns the decimal text of a number that `parseExact` or `JSON.parse` returned, or of digits in a string; else null.
 */
export function decimalText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return value;
  return JSON.isRawJSON(value) ? value.rawJSON : null;
}

/** Returns the number nearest to one that `parseExact` kept as text; any other value unchanged. */
export function nearestNumber(value: unknown): unknown {
  return typeof value === 'object' && JSON.isRawJSON(value) ? Number(value.rawJSON) : value;
}

/** Merges two JSON objects given as text: members of `above` override those of `below`. Numbers keep their text. */
export function mergeDocuments(below: string, above: string): string {
  return JSON.stringify({ ...members(below), ...members(above) });
}

/** Returns whether `below` has a member that `above` lacks, so that `above` alone would lose something. */
export function lacksMembers(above: string, below: string): boolean {
  const has = members(above);
  return Object.keys(members(below)).some((name) => !Object.hasOwn(has, name));
}

function members(document: string): Record<string, unknown> {
  return parseExact(document) as Record<string, unknown>;
}

/** Members of a JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * Most names with which an answer is described, and the longest name that is printed: longer ones are ids or sentences,
 * thus data.
 */
const mostNames = 8;
const longestName = 32;

/**
 * Describes an answer to people by the names of its members and nothing else: `data, meta`. A value that is not an
 * object is described by its type.
 */
export function memberNames(value: unknown): string {
  if (Array.isArray(value)) return 'none, it is an array';
  if (!isMembers(value))
    return `none, it is ${value === null || value === undefined ? 'nothing' : `a ${typeof value}`}`;
  const names = Object.keys(value).map((name) =>
    /^[A-Za-z_$@][\w$@.:-]*$/.test(name) && name.length <= longestName ? name : '…',
  );
  const shown = [...new Set(names)].slice(0, mostNames);
  return [...shown, ...(new Set(names).size > mostNames ? ['…'] : [])].join(', ') || 'none';
}

/** Returns whether a value is a JSON object, and not an array or a number kept as printed. */
export function isMembers(value: unknown): value is Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  // Only a value without prototype can be a number kept as printed. This test is cheaper, so it comes first.
  return Object.getPrototypeOf(value) !== null || !JSON.isRawJSON(value);
}
