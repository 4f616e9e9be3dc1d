import { type OptionalResourcePath, type Resource, resourceNames, resources } from './resources.ts';

/*
 * Paths that the specification does not list. A service may lack them; a 404 or 405 then concerns the path, not the
 * requested subject. `subscription` is the read of a subscription; the specification lists its PUT.
 */
export type OptionalPath = OptionalResourcePath | 'subscription' | 'reactivate';

/** Setting with which an operator stops requests to the path. */
export const keyOf: Readonly<Record<OptionalPath, string>> = {
  experiences: 'service.profile.paths.experiences: null',
  tags: 'service.profile.paths.tags: null',
  product: 'service.profile.paths.product: null',
  subscription: 'service.profile.subscription_reads: false',
  reactivate: 'service.profile.paths.reactivate: null',
};

export const optionalPaths = Object.keys(keyOf) as readonly OptionalPath[];

/** Name of each path for people. */
export const nameOf: Readonly<Record<OptionalPath, string>> = {
  experiences: 'the list of experiences',
  tags: 'the list of tags',
  product: 'the read of a single product',
  subscription: 'the read of a subscription',
  reactivate: 'reactivating a subscription',
};

/** Returns the optional path at which a resource is read; null if every service has its path. */
export function optionalPathOf(resource: Resource): OptionalResourcePath | null {
  const { optional, path } = resources[resource];
  return optional ? path : null;
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
}

/**
 * Milliseconds between two attempts at a missing path: `before` for a path that has answered before, because it may be
 * away like the service itself; `doubted` for one that was refused only once; `never` for others.
 */
const askAgainMs = { never: 7 * 86_400_000, before: 6 * 3_600_000, doubted: 60_000 };

/** Returns whether an instant lies within the last `ms` milliseconds. */
function isWithin(at: number | null, ms: number, now: number): boolean {
  return at !== null && now - at < ms;
}

/** Returns whether a path that is not offered may be requested again. `isDoubted`: it was refused only once. */
export function mayAskAgain(
  { asked_at, answered_at }: Omit<OfferFacts, 'refused_at' | 'not_offered_at'>,
  now: number,
  isDoubted = false,
): boolean {
  const never = isDoubted ? 'doubted' : 'never';
  return !isWithin(asked_at, askAgainMs[answered_at === null ? never : 'before'], now);
}
