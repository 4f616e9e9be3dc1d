import { isMembers, type Members, memberNames } from '../values/members.ts';
import { type AnswerContext, identifier, type Member, unreadable } from './member.ts';
import { exampleOf, remarked, storable, type UnreadMembers } from './unread.ts';

/** An answer that is JSON, but not what the endpoint specifies: a failed read, and the old copy stays. */
export class WrongShape extends Error {
  override readonly name = 'WrongShape';
}

type Declared = Readonly<Record<string, Member<unknown, null>>>;
type ValueOf<Declaration> = Declaration extends Member<infer Value, infer Absent> ? Value | Absent : never;
/** The values of declared members. */
export type RowValues<Row extends Declared> = { readonly [Name in keyof Row]: ValueOf<Row[Name]> };

/** Declares the members of a row: decoding, `probe` and the documents follow this one place. */
export class Shape<Row extends Declared = Declared> {
  /** What a row is, for people: `the product`. */
  readonly row: string;
  readonly members: Row;
  readonly #entries: readonly (readonly [name: string, path: string, member: Member<unknown>])[];
  readonly #names: ReadonlySet<string>;

  /** `place` begins the paths of its members: `dates[].`. */
  constructor(row: string, place: string, members: Row) {
    this.row = row;
    this.members = members;
    this.#entries = Object.entries(members).map(([name, member]) => [name, place + name, member as Member<unknown>]);
    this.#names = new Set(Object.keys(members));
  }

  /**
   * Reads the members of a row, and notes those that are unreadable, or remarkable. Throws a `WrongShape` without one that
   * is needed.
   */
  read(value: unknown, unread: UnreadMembers, context?: AnswerContext): RowValues<Row> {
    const row = members(value, this.row);
    const values: Record<string, unknown> = {};
    for (const [name, path, member] of this.#entries) {
      const { aliases, isNeeded, isCount, isKept, otherwise, form, remark } = member.terms;
      let sent = row[name];
      let outcome = member.read(sent, context);
      // Nearly all members of an answer: what follows has nothing to say of them.
      if (member.isPlain && outcome !== unreadable) {
        values[name] = outcome;
        continue;
      }
      for (const alias of aliases) {
        if (outcome !== null && outcome !== unreadable) break;
        const other = member.read(row[alias], context);
        if (other === null || (other === unreadable && outcome === unreadable)) continue;
        [outcome, sent] = [other, row[alias]];
      }
      if (outcome === unreadable) {
        if (isNeeded) throw new WrongShape(`${name} of ${this.row} is ${exampleOf(sent)}, no usable ${form}`);
        unread.note(path, sent, isCount);
        outcome = otherwise;
      } else if (outcome === null && isNeeded) throw missing(row, name);
      else if (isKept && outcome !== null) unread.readable(path);
      else if (remark !== null && outcome !== null && member.remarkOn(outcome, context) !== null) {
        unread.note(remarked(path, remark.why), sent);
        if (remark.instead !== undefined) outcome = remark.instead;
      }
      // One id of a list that cannot be read is left out, and named.
      if (form === 'ids' && outcome !== null && outcome !== otherwise && Array.isArray(sent)) {
        const leftOut = (sent as readonly unknown[]).find((each) => identifier.read(each) === unreadable);
        if (leftOut !== undefined) unread.note(`${path}[]`, leftOut);
      }
      values[name] = outcome;
    }
    return values as RowValues<Row>;
  }

  /** Returns the declaration of a member by its path; undefined: it is another row's. */
  at(path: string): Member<unknown> | undefined {
    return this.#entries.find(([, each]) => each === path)?.[2];
  }

  /** Returns the members that have no place of their own: undeclared ones, and those whose value is NULL although one was sent. */
  rest(row: Members, values: Readonly<Record<string, unknown>>): Members | null {
    let rest: Record<string, unknown> | null = null;
    for (const name in row) {
      if (this.#names.has(name) && (values[name] !== null || row[name] == null)) continue;
      if (!Object.hasOwn(row, name)) continue;
      rest ??= {};
      Object.defineProperty(rest, name, {
        value: storable(row[name]),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return rest;
  }
}

/** Returns the members of a JSON object; anything else is a wrong shape. */
export function members(value: unknown, what: string): Members {
  if (isMembers(value)) return value;
  throw new WrongShape(`${what} is ${kindOf(value)}, expected an object`);
}

/** Returns the elements of a JSON array; anything else, also a missing one, is a wrong shape. */
function elements(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new WrongShape(`${what} is ${kindOf(value)}, expected an array`);
}

/**
 * Returns the elements of a member of an answer that the endpoint promises. Where it is missing, the error shows which
 * members there are: the service may call it otherwise.
 */
export function elementsIn(answer: Members, name: string): readonly unknown[] {
  if (answer[name] === undefined) throw missing(answer, name);
  return elements(answer[name], name);
}

/** The same for a member that is an object. */
export function membersIn(answer: Members, name: string): Members {
  if (answer[name] === undefined) throw missing(answer, name);
  return members(answer[name], name);
}

/** Returns the error of an object without a member that it needs, with the names of those it has as an example. */
export function missing(value: unknown, expected: string): WrongShape {
  return new WrongShape(`members: ${memberNames(value)}; expected: ${expected}`);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
