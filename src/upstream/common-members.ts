import { hash } from 'node:crypto';
import type { Instant } from '../clock.ts';
import type { SharedMembers } from '../domain/catalogue/checkout-information.ts';
import type { Members } from '../domain/values/members.ts';

/*
 * A service may put members beside the payload that nobody declares, such as the name of its release. They have the same
 * value in all answers, and change in all of them at once: that is no change of a product.
 */

/** Answers of the last minute are compared, and no more than so many. */
const [spanMs, mostAnswers] = [60_000, 50];
/** Products whose answers must have the same value before it is common to all. */
const leastProducts = 5;
/** Members that are followed at most. */
const mostMembers = 20;

interface Seen {
  readonly product_id: number;
  readonly at: number;
  readonly value: string;
}

/** Members that the answers of a minute share, and those of one product alone. Learned by each process from scratch. */
export class CommonMembers {
  /** The last answers, by the name of the member; the newest stands last. */
  readonly #seen = new Map<string, Seen[]>();

  /** Takes the undeclared members of an answer. Returns those of them that are not the product's own, as far as known. */
  of(product_id: number, members: Members, at: Instant): SharedMembers {
    const [common, unsure]: [string[], string[]] = [[], []];
    for (const name of new Set([...this.#seen.keys(), ...Object.keys(members)])) {
      const last = (this.#seen.get(name) ?? []).filter((seen) => Math.abs(at - seen.at) <= spanMs);
      if (last.length === 0 && !Object.hasOwn(members, name)) {
        this.#seen.delete(name);
        continue;
      }
      if (!this.#seen.has(name) && this.#seen.size >= mostMembers) continue;
      last.push({ product_id, at, value: fingerprint(members[name]) });
      this.#seen.set(name, last.slice(-mostAnswers));
      if (Object.hasOwn(members, name)) listOf(last, { common, unsure })?.push(name);
    }
    return { common, unsure };
  }
}

/** Returns the list that a member belongs to; null: its value is the product's own. */
function listOf<List>(
  last: readonly Seen[],
  { common, unsure }: Readonly<Record<'common' | 'unsure', List>>,
): List | null {
  const turns = last.filter(({ value }, index) => index > 0 && value !== last[index - 1]?.value).length;
  // A new release has another value from one answer on. Values that come again are those of products.
  if (turns > 1) return null;
  return turns === 0 && new Set(last.map((seen) => seen.product_id)).size >= leastProducts ? common : unsure;
}

function fingerprint(value: unknown): string {
  return value === undefined ? '' : hash('sha256', JSON.stringify(value)).slice(0, 16);
}
