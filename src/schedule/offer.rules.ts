import { dayMs, minuteMs } from '../kernel/clock.ts';
import { type OptionalResourcePath, type Resource, resourceNames, resources } from './resources.rules.ts';

/*
 * Paths without which a mirror can be filled. The key may have no right to read them (401 or 403 for each record). Those
 * that the specification does not list may be missing; a 404 or 405 then concerns the path, not the requested subject.
 * `subscription` is the read of a subscription; the specification lists its PUT.
 */
export type OptionalPath = OptionalResourcePath | 'subscription' | 'reactivate';

/** Subject of a refusal beyond its record: the path, which the service lacks, or the key, which may not read it. */
export type RefusalOf = 'path' | 'key';

/** Setting with which an operator stops requests to the path. */
export const keyOf: Readonly<Record<OptionalPath, string>> = {
  experiences: 'service.profile.paths.experiences: null',
  tags: 'service.profile.paths.tags: null',
  product: 'service.profile.paths.product: null',
  checkout_information: 'service.profile.paths.checkout_information: null',
  variants: 'service.profile.paths.variants: null',
  subscription: 'service.profile.subscription_reads: false',
  reactivate: 'service.profile.paths.reactivate: null',
};

export const optionalPaths = Object.keys(keyOf) as readonly OptionalPath[];

/** Name of each path for people. */
export const nameOf: Readonly<Record<OptionalPath, string>> = {
  experiences: 'the list of experiences',
  tags: 'the list of tags',
  product: 'the read of a single product',
  checkout_information: 'checkout information',
  variants: 'the read of variants',
  subscription: 'the read of a subscription',
  reactivate: 'reactivating a subscription',
};

/** Returns the optional path at which a resource is read; null if nothing can be mirrored without it. */
export function optionalPathOf(resource: Resource): OptionalResourcePath | null {
  const { needed, path } = resources[resource];
  return needed ? null : path;
}

/** Returns whether a 404 or 405 for a resource may mean that the service lacks its path. */
export function mayLack(resource: Resource): boolean {
  return resources[resource].optional;
}

/** Returns the resource that is read at a path; null if there is none. */
export function resourceAt(path: OptionalPath): Resource | null {
  return resourceNames.find((resource) => optionalPathOf(resource) === path) ?? null;
}

/** Facts about a path. Instants in epoch milliseconds; null for never. */
export interface OfferFacts {
  readonly answered_at: number | null;
  readonly refused_at: number | null;
  readonly not_offered_at: number | null;
  readonly asked_at: number | null;
  readonly refusal: RefusalOf;
}

/**
 * Milliseconds between two attempts at a path that is refused: `before` for one that has answered before, because it may
 * be away like the service itself; `never` for others.
 */
const askAgainMs: Readonly<Record<RefusalOf, { readonly never: number; readonly before: number }>> = {
  path: { never: 7 * dayMs, before: dayMs / 4 },
  key: { never: dayMs, before: 10 * minuteMs },
};

/** Milliseconds for which the records of a path wait that the key could read before: one attempt comes sooner. */
export const withheldMs = askAgainMs.key.before + 2 * minuteMs;

/** Returns whether an instant lies within the last `ms` milliseconds. */
function isWithin(at: number | null, ms: number, now: number): boolean {
  return at !== null && now - at < ms;
}

/**
 * Returns whether a path that is not offered may be requested again. One that was refused only once (`isDoubted`), and
 * never answered, is requested a second time after a minute.
 */
export function mayAskAgain(
  { asked_at, answered_at, refusal }: Omit<OfferFacts, 'refused_at' | 'not_offered_at'>,
  now: number,
  isDoubted = false,
): boolean {
  const { never, before } = askAgainMs[refusal];
  return !isWithin(asked_at, answered_at !== null ? before : isDoubted ? minuteMs : never, now);
}
