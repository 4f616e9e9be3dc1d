import { nearestNumber } from '../values/exact-json.ts';

/** The members of an answer that are there and cannot be read, each with its first value as an example. */
export class UnreadMembers {
  readonly #examples = new Map<string, string>();
  readonly #readable = new Set<string>();
  #uncounted = 0;

  /** Adds a member by its path, like `dates[].availability`. */
  note(member: string, value: unknown, isCount = false): void {
    if (isCount) this.#uncounted += 1;
    if (!this.#examples.has(member)) this.#examples.set(member, exampleOf(value));
  }

  /** Records that a value of a member was read. */
  readable(member: string): void {
    this.#readable.add(member);
  }

  /** Number of counts among the noted values. */
  get uncounted(): number {
    return this.#uncounted;
  }

  /** Undefined if everything was read. */
  get examples(): Examples | undefined {
    if (this.#examples.size === 0) return undefined;
    return new Map(
      [...this.#examples].map(([member, example]) => [member, { example, isAll: !this.#readable.has(member) }]),
    );
  }
}

/** An unreadable member. `isAll`: no value of it in the answer was read, as far as its declaration asks for that. */
export interface UnreadValue {
  readonly example: string;
  readonly isAll: boolean;
}

/** Returns the name under which a readable member is noted. It fails no read. */
export function remarked(member: string, why: string): string {
  return `${member} (${why})`;
}

/** Returns the member and the remark of a name; a remark of null: the member cannot be read. */
export function remarkIn(name: string): { readonly member: string; readonly why: string | null } {
  const [, member = name, why = null] = /^(.*) \((.*)\)$/.exec(name) ?? [];
  return { member, why };
}

/** Unreadable members, by path. */
export type Examples = ReadonlyMap<string, UnreadValue>;

/** Returns a number beyond any double as text: as a number it would be stored as null, which stands for none. */
export function storable(value: unknown): unknown {
  const number = nearestNumber(value);
  return typeof number === 'number' && !Number.isFinite(number) ? String(number) : value;
}

const longestExample = 60;

/** Returns a value as people see it in a condition. */
export function exampleOf(value: unknown): string {
  const text = JSON.stringify(storable(value)) ?? 'nothing';
  return text.length <= longestExample ? text : `${text.slice(0, longestExample - 1)}…`;
}
