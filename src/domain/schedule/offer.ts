import { type OptionalResourcePath, type Resource, resourceNames, resources } from './resources.ts';

/*
 * Paths that the specification does not list: a service may lack them, and a 404 or 405 then concerns the path, not the
 * requested subject. `subscription` is the read of a subscription; the specification lists its PUT.
 */
export type OptionalPath = OptionalResourcePath | 'subscription' | 'reactivate';

/** The setting with which an operator stops it from being requested. */
export const keyOf: Readonly<Record<OptionalPath, string>> = {
  experiences: 'service.profile.paths.experiences: null',
  product: 'service.profile.paths.product: null',
  subscription: 'service.profile.subscription_reads: false',
  reactivate: 'service.profile.paths.reactivate: null',
};

/** All of them. */
export const optionalPaths = Object.keys(keyOf) as readonly OptionalPath[];

/** The name of each path for people. */
export const nameOf: Readonly<Record<OptionalPath, string>> = {
  experiences: 'the list of experiences',
  product: 'the read of a single product',
  subscription: 'the read of a subscription',
  reactivate: 'reactivating a subscription',
};

/** Returns the optional path at which a resource is read; null: its path is one that every service has. */
export function optionalPathOf(resource: Resource): OptionalResourcePath | null {
  const { optional, path } = resources[resource];
  return optional ? path : null;
}

/** Returns the resource that is read there; null: none is. */
export function resourceAt(path: OptionalPath): Resource | null {
  return resourceNames.find((resource) => optionalPathOf(resource) === path) ?? null;
}

/** The facts of a path. Instants in epoch milliseconds; null: never. */
export interface OfferFacts {
  readonly answered_at: number | null;
  readonly refused_at: number | null;
  readonly not_offered_at: number | null;
  readonly asked_at: number | null;
}

/** How often to ask again for a missing path: one that has answered before may be away like the service itself. */
const askAgainMs = { never: 7 * 86_400_000, before: 6 * 3_600_000 };
/** A path that answered within this exists: a 404 speaks of the product. */
const believedMs = 3_600_000;

/** Tells whether an answer refuses the path, or what was asked of it: nobody can tell from one. */
export function refusesPath(outcome: { readonly kind: string; readonly status?: number }): boolean {
  const { kind, status } = outcome;
  return (kind === 'refused' || kind === 'missing') && (status === 404 || status === 405);
}

/** Tells whether an instant lies within the last `ms`; one that has not come yet counts as never. */
function isWithin(at: number | null, ms: number, now: number): boolean {
  return at !== null && at <= now && now - at < ms;
}

/** Tells whether it is known that the path exists, so that nobody need ask. */
export function isBelieved({ answered_at }: Pick<OfferFacts, 'answered_at'>, now: number): boolean {
  return isWithin(answered_at, believedMs, now);
}

/** Tells whether a path that is not offered may be asked again. */
export function mayAskAgain(
  { asked_at, answered_at }: Omit<OfferFacts, 'refused_at' | 'not_offered_at'>,
  now: number,
): boolean {
  return !isWithin(asked_at, askAgainMs[answered_at === null ? 'never' : 'before'], now);
}

/** How many products must answer 404 or 405, and none with its data, before their path counts as missing. */
const leastRefused = 5;
/** More products than that are asked, so that a few that are really gone do not decide. */
const mostAsked = 10;

/**
 * Returns the products whose own reads tell whether their path exists: spread evenly over the listed ones (ascending).
 */
export function witnessesAmong(listed: readonly number[]): number[] {
  const step = (listed.length - 1) / (Math.min(mostAsked, listed.length) - 1 || 1);
  const chosen = Array.from({ length: Math.min(mostAsked, listed.length) }, (_, index) => Math.round(index * step));
  return chosen.map((index) => listed[index]).filter((id) => id !== undefined);
}

/**
 * Returns what witnesses say of whom none answered with its data; `refused` of `asked` did so with a 404 or 405. Of a
 * small catalogue all are enough, but not where the path has answered before: then they may all be gone.
 */
export function judgeWitnesses(
  { refused, asked }: { readonly refused: number; readonly asked: number },
  { answered_at }: Pick<OfferFacts, 'answered_at'>,
): 'offered' | 'not-offered' | 'unknown' {
  if (asked === 0 || (asked < leastRefused && answered_at !== null)) return 'offered';
  return refused === asked ? 'not-offered' : 'unknown';
}

/** How long the service's reads may be cached: a subscription put since then does not count as missing. */
const readsBehindMs = 5 * 60_000;

/**
 * Returns what a 404 or 405 to the read of a subscription means: there is none yet, or it is lost (`doubted`, where no
 * read has ever been answered), which a PUT mends; or, where one that was put again because of a 404 is not found
 * either, that subscriptions cannot be read: then the answer to the PUT is believed.
 */
export function judgeSubscriptionRead(
  status: 404 | 405,
  { answered_at, refused_at }: Pick<OfferFacts, 'answered_at' | 'refused_at'>,
  { put_at, now }: { readonly put_at: number | null; readonly now: number },
): 'missing' | 'doubted' | 'too-early' | 'not-offered' {
  if (status === 405) return 'not-offered';
  if (answered_at !== null || put_at === null) return 'missing';
  if (refused_at === null || put_at < refused_at) return 'doubted';
  return isWithin(put_at, readsBehindMs, now) ? 'too-early' : 'not-offered';
}
