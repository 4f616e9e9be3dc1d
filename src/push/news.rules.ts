import { hash } from 'node:crypto';
import type { Members } from '../kernel/values/exact-json.ts';
import { isSame, type UpdatedField } from './awaited.rules.ts';

/*
 * Decides about announcements that a read does not show yet: a cache may have answered with what was before. The
 * record that the announcement is about is read again twice, and no other.
 */

/** Milliseconds after an announcement at which a record is read again that does not show it yet. */
const looksAfterMs = [2 * 60_000, 12 * 60_000] as const;

/** Milliseconds after an announcement after which an answer decides about it, whatever it says. */
export const newsSettledMs = looksAfterMs[1];

/** Returns when to read a record again that does not show an announcement; null: both looks are over. */
export function rereadAfterNews(announced_at: number, now: number): number | null {
  return looksAfterMs.map((after) => announced_at + after).find((at) => at > now) ?? null;
}

/** Share of the learned rate for such reads, and the most of them that may be planned at once after a rest. */
const share = 0.03;
const burst = 60;

/** Grants the reads that repeat a look for an announcement, as a share of the rate. */
export class NewsBudget {
  readonly #rate: () => number;
  /** When the grants so far are paid for by their share of the rate. */
  #paid_at = Number.NEGATIVE_INFINITY;

  /** `rate`: returns the learned calls a second. */
  constructor(rate: () => number) {
    this.#rate = rate;
  }

  /** Takes one grant. Returns false where the share is used up: the record then keeps its cadence. */
  takes(now: number): boolean {
    const each = 1000 / (share * this.#rate());
    if (this.#paid_at - now > burst * each) return false;
    this.#paid_at = Math.max(this.#paid_at, now) + each;
    return true;
  }
}

/** A member of a stored document that an update announced with another value. */
export interface AwaitedMember {
  readonly resource: 'product_detail' | 'checkout_information';
  readonly language: string;
  readonly field: string;
  /** Hash of the value before. No value of a notification is stored. */
  readonly was: string;
}

/** A document that readers see: a product's, or its checkout information. */
export interface ShownDocument {
  readonly resource: AwaitedMember['resource'];
  readonly language: string;
  readonly document: Members;
}

/**
 * Returns the members that an update announces with another value than the mirror shows. A field of which one document
 * has the new value is shown. A notification says nothing of its language: the document with the old value is meant.
 */
export function awaitedMembers(documents: readonly ShownDocument[], updated: readonly UpdatedField[]): AwaitedMember[] {
  return updated.flatMap(({ field, old_value, new_value }) => {
    const having = documents.filter(({ document }) => Object.hasOwn(document, field));
    if (new_value === undefined || having.some(({ document }) => isSame(document[field], new_value))) return [];
    const [meant] = [...having.filter(({ document }) => isSame(document[field], old_value)), ...having];
    if (meant === undefined) return [];
    const { resource, language, document } = meant;
    return [{ resource, language, field, was: hashOf(document[field]) }];
  });
}

/** Returns whether a document still has what it had when another value was announced. */
export function isStillOld({ field, was }: AwaitedMember, document: Members): boolean {
  return hashOf(document[field]) === was;
}

function hashOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value) ?? 'undefined', 'base64url').slice(0, 16);
}
