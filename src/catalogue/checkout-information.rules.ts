import { isMembers, parseExact } from '../kernel/values/exact-json.ts';
import type { Examples } from '../service/shapes.rules.ts';

/** Data that a sale needs (specification §2), in one language. Flags are null if the service left them out. */
export interface CheckoutInformation {
  readonly has_timeslots: boolean | null;
  readonly has_dynamic_pricing: boolean | null;
  readonly must_know: string | null;
  readonly good_to_know: string | null;
  readonly document: string;
  /** Undeclared members of the document that are not the product's own; undefined: there are none. */
  readonly shared?: SharedMembers | undefined;
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}

/** Names of undeclared members of an answer: those common to the answers of all products, and those that may be. */
export interface SharedMembers {
  readonly common: readonly string[];
  readonly unsure: readonly string[];
}

/**
 * Returns the document to store for a product. A member that is common to all answers stays as it is stored, mostly not
 * at all. One that may be common is the product's own if the stored document has it.
 */
export function documentToStore({ document, shared }: CheckoutInformation, stored: string | null): string {
  if (shared === undefined) return document;
  const [now, before] = [document, stored ?? '{}'].map((text) => parseExact(text));
  if (!isMembers(now) || !isMembers(before)) return document;
  const isLeftOut = (name: string) =>
    !Object.hasOwn(before, name) && (shared.common.includes(name) || shared.unsure.includes(name));
  const members = Object.entries(now).filter(([name]) => !isLeftOut(name));
  return JSON.stringify(
    Object.fromEntries(members.map(([name, value]) => [name, shared.common.includes(name) ? before[name] : value])),
  );
}
