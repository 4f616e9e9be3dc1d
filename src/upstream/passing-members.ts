import { createHash, hash } from 'node:crypto';
import { isMembers } from '../domain/values/members.ts';

/*
 * Some services put an instant or a request number into each answer. Then no two bodies are equal, and each answer would
 * be decoded although nothing in it changed. Such a member is left out of the hash of a body, once enough answers have
 * differed in it and in nothing else.
 *
 * The fingerprint of a body is its sha256, or, if it has such members, that of the rest and then each member by name:
 * `|generated_at=1f0c9a52`, or `|generated_at` if it is left out.
 */

/** Answers, and products among them, that must differ in nothing but a member before it is left out. */
const enough = { answers: 20, products: 5 };
/** One in so many answers is decoded whole although its fingerprint is known. */
const wholeEvery = 20;
const mostMembers = 4;
const nameForm = /^[\w-]{1,40}$/;

/** Members of answers that change from answer to answer and feed no column. Learned by each process from scratch. */
export class PassingMembers {
  /** Answers and products that differed in nothing but the member, by its name. */
  readonly #seen = new Map<string, { answers: number; readonly products: Set<number> }>();
  /** Members that are left out. */
  readonly #leftOut = new Set<string>();
  /** Members that were left out until an answer that differed in nothing else changed the mirror. */
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
    const members = names.map((name, index) => (this.#leftOut.has(name) ? `|${name}` : `|${name}=${values[index]}`));
    return sum.update(body.subarray(at)).digest('hex') + members.join('');
  }

  /** Returns a stored fingerprint as `of` returns it now: without the values of members that have been left out since. */
  asNow(fingerprint: string): string {
    const [rest = '', ...members] = fingerprint.split('|');
    const now = members.map((member) => (this.#leftOut.has(nameIn(member)) ? nameIn(member) : member));
    return [rest, ...now].join('|');
  }

  /** Returns whether an answer about to be requested has to be decoded whole, whatever its fingerprint is. */
  isWholeDue(known: string): boolean {
    if (!membersIn(known).some((name) => this.#leftOut.has(name))) return false;
    this.#sinceWhole = (this.#sinceWhole + 1) % wholeEvery;
    return this.#sinceWhole === 0;
  }

  /** Called with the fingerprints of two successive answers about a product, the second of which was decoded. */
  differed(product_id: number, before: string, after: string): void {
    const [[rest, ...old], [restNow, ...now]] = [before.split('|'), after.split('|')];
    const names = now.map(nameIn);
    if (rest !== restNow || names.join() !== old.map(nameIn).join()) return;
    for (const [index, name] of names.entries()) {
      if (old[index] === now[index] || this.#leftOut.has(name) || this.#mattering.has(name)) continue;
      const seen = this.#seen.get(name) ?? { answers: 0, products: new Set() };
      this.#seen.set(name, seen);
      seen.answers += 1;
      if (seen.products.size < enough.products) seen.products.add(product_id);
      if (seen.answers >= enough.answers && seen.products.size >= enough.products) this.#leftOut.add(name);
    }
  }

  /** Called when an answer with this fingerprint was expected to change nothing and changed the mirror. */
  matters(fingerprint: string): void {
    for (const name of membersIn(fingerprint)) {
      this.#seen.delete(name);
      this.#leftOut.delete(name);
      this.#mattering.add(name);
    }
  }
}

/** Returns the names of the members in a fingerprint. */
export function membersIn(fingerprint: string): string[] {
  return fingerprint.split('|').slice(1).map(nameIn);
}

/** Returns the names of the single values in the JSON of members that feed no column. */
export function passingIn(context: string): string[] {
  const members: unknown = context === '{}' ? {} : JSON.parse(context);
  const single = Object.entries(isMembers(members) ? members : {}).filter(([, value]) => typeof value !== 'object');
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
