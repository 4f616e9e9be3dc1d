import { createHash, hash } from 'node:crypto';
import type { Members } from '../kernel/values/exact-json.ts';

/*
 * Some services put an instant or a request number into each answer. Then no two bodies are equal, and each answer would
 * be decoded although nothing in it changed. Such a member is left out of the hash of a body, once enough answers have
 * differed in it and in nothing else.
 *
 * The fingerprint of a body is its sha256. Once a decoded answer has changed nothing, its members are suspected. The fingerprint of
 * a body with such members is the sha256 of the rest and then each member by name: `|generated_at=1f0c9a52`, or
 * `|generated_at` if it is left out.
 */

/** Answers, and products among them, that must differ in nothing but a member before it is left out. */
const enough = { answers: 20, products: 5 };
/** One in so many answers is decoded whole although its fingerprint is known. */
const wholeEvery = 20;
/** Members that are suspected at most. */
const mostMembers = 4;
const nameForm = /^[\w-]{1,40}$/;

/** A decoded answer about a product of which an earlier one is stored. */
interface Decoded {
  readonly product_id: number;
  /** Fingerprints of the earlier answer and of this one. */
  readonly before: string;
  readonly after: string;
  /** Names of its single members that feed no column. */
  readonly passing: readonly string[];
}

/** Members of answers that change from answer to answer and feed no column. Learned by each process from scratch. */
export class VolatileMembers {
  /** Answers and products that differed in nothing but the member, by its name. */
  readonly #suspected = new Map<string, { answers: number; readonly products: Set<number> }>();
  /** Members that are suspected no more: an answer that differed in nothing else changed the mirror. */
  readonly #mattering = new Set<string>();
  /** Answers whose fingerprint left something out, since the last one that was decoded whole. */
  #sinceWhole = 0;

  /** Returns the fingerprint of a body with these members. */
  of(parts: readonly Buffer[], names: readonly string[]): string {
    const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    const spans = names.map((name) => spanOf(body, name));
    if (names.length === 0 || !spans.every((span) => span !== null)) return hash('sha256', body);
    const sum = createHash('sha256');
    let at = 0;
    for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
      // The zero byte keeps the place of the member: no JSON has one.
      sum.update(body.subarray(at, from)).update('\0');
      at = to;
    }
    const values = spans.map(([from, to]) => hash('sha256', body.subarray(from, to)).slice(0, 8));
    const members = names.map((name, index) => (this.#isLeftOut(name) ? `|${name}` : `|${name}=${values[index]}`));
    return sum.update(body.subarray(at)).digest('hex') + members.join('');
  }

  /** Returns those names that are suspected. */
  suspectedOf(names: readonly string[]): string[] {
    return names.filter((name) => this.#suspected.has(name));
  }

  /** Returns whether an answer about to be requested has to be decoded whole, whatever its fingerprint is. */
  isWholeDue(known: string): boolean {
    if (!membersIn(known).some((name) => this.#isLeftOut(name))) return false;
    this.#sinceWhole = (this.#sinceWhole + 1) % wholeEvery;
    return this.#sinceWhole === 0;
  }

  /** Called when a decoded answer has been stored: with whether it changed the mirror. */
  stored({ product_id, before, after, passing }: Decoded, changed: boolean): void {
    const names = membersIn(after);
    const [[rest, ...old], [restNow, ...now]] = [before.split('|'), after.split('|')];
    const differing =
      rest === restNow && names.join() === membersIn(before).join()
        ? names.filter((name, index) => old[index] !== now[index] || now[index] === name)
        : [];
    if (changed) {
      for (const name of differing) {
        this.#suspected.delete(name);
        this.#mattering.add(name);
      }
      return;
    }
    for (const name of passing) {
      const isRoom = this.#suspected.size + this.#mattering.size < mostMembers;
      if (isRoom && !this.#mattering.has(name) && !this.#suspected.has(name))
        this.#suspected.set(name, { answers: 0, products: new Set() });
    }
    for (const name of differing) {
      const seen = this.#suspected.get(name);
      if (seen === undefined) continue;
      seen.answers += 1;
      if (seen.products.size < enough.products) seen.products.add(product_id);
    }
  }

  #isLeftOut(name: string): boolean {
    const seen = this.#suspected.get(name);
    return seen !== undefined && seen.answers >= enough.answers && seen.products.size >= enough.products;
  }
}

/** Returns the names of the members in a fingerprint. */
export function membersIn(fingerprint: string): string[] {
  return fingerprint.split('|').slice(1).map(nameIn);
}

/** Returns the names of the members that a fingerprint leaves out: what is stored of them is not kept current. */
export function leftOutIn(fingerprint: string): string[] {
  return fingerprint
    .split('|')
    .slice(1)
    .filter((member) => nameIn(member) === member);
}

/** Returns the names of the single values among members that feed no column. */
export function volatileIn(rest: Members): string[] {
  const single = Object.entries(rest).filter(([, value]) => typeof value !== 'object');
  const names = single.map(([name]) => name).filter((name) => nameForm.test(name));
  return names.length > mostMembers ? [] : names;
}

function nameIn(member: string): string {
  return member.split('=', 1)[0] ?? '';
}

/** Returns where the value of a member stands in a body; null if the name is not in it once, before a single value. */
function spanOf(body: Buffer, name: string): [from: number, to: number] | null {
  const quoted = Buffer.from(`"${name}"`);
  const at = body.indexOf(quoted);
  if (at < 0 || body.indexOf(quoted, at + 1) >= 0) return null;
  const colon = afterSpace(body, at + quoted.length);
  if (body[colon] !== character.colon) return null;
  const from = afterSpace(body, colon + 1);
  if (body[from] === character.brace || body[from] === character.bracket) return null;
  const to = body[from] === character.quote ? afterText(body, from) : afterWord(body, from);
  return to > from && to < body.length ? [from, to] : null;
}

const character = { quote: 0x22, comma: 0x2c, colon: 0x3a, bracket: 0x5b, backslash: 0x5c, brace: 0x7b, end: 0x7d };

function afterSpace(body: Buffer, from: number): number {
  let at = from;
  while ((body[at] ?? 0xff) <= 0x20) at += 1;
  return at;
}

function afterText(body: Buffer, from: number): number {
  let at = from + 1;
  while (at < body.length && body[at] !== character.quote) at += body[at] === character.backslash ? 2 : 1;
  return at + 1;
}

function afterWord(body: Buffer, from: number): number {
  let at = from;
  while (at < body.length && body[at] !== character.comma && body[at] !== character.end && (body[at] ?? 0) > 0x20)
    at += 1;
  return at;
}
