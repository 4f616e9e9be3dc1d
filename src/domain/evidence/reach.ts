import type { OfferFacts } from '../schedule/offer.ts';
import { isList, type Resource } from '../schedule/resources.ts';

/*
 * Decides how far a refusal reaches: to its record, to a path that the service may lack, or to the key of the account
 * (evidence.md, section 2). One refusal concerns its record alone. Others are asked before it concerns more.
 */

/** A refusal may be about this, beyond its record. */
export type Beyond = 'key' | 'path';

/** An outcome of a call, as far as a refusal goes. */
interface Said {
  readonly kind: string;
  readonly status?: number;
}

const refusing: Readonly<Record<Beyond, readonly number[]>> = { key: [401, 403], path: [404, 405] };

/** Tells whether an answer refuses the key (or the path), or else what was asked of it: one answer cannot tell which. */
export function refuses(about: Beyond, { kind, status = 0 }: Said): boolean {
  return (kind === 'refused' || kind === 'missing') && refusing[about].includes(status);
}

/** Begins the code of a failure where the service refuses or throttles one record, and accepts the key for others. */
export const refusedCode = 'refused-';

/** What the answer to another record shows about the key or the path. */
export type Shown = 'refused' | 'accepted' | 'nothing';

/** Returns what an answer shows. With a refused key the service would neither miss a product nor break on one. */
export function shownBy(about: Beyond, said: Said): Shown {
  const { kind, status } = said;
  if (refuses(about, said)) return 'refused';
  if (kind === 'answer' || kind === 'read' || kind === 'unchanged') return 'accepted';
  return about === 'key' && (kind === 'refused' || (kind === 'failed' && status !== undefined))
    ? 'accepted'
    : 'nothing';
}

/** How far a refusal reaches, and why. `unknown`: the record is asked again in a minute, and has not failed. */
export type Reach =
  | { readonly to: 'record'; readonly because: 'specified' | 'another-accepted' | 'nobody-answered' | 'products-gone' }
  | { readonly to: 'key'; readonly because: 'all-refused' | 'account' | 'known' }
  | { readonly to: 'path'; readonly because: 'three-refused' | 'refused-again' | 'known' }
  | { readonly to: 'unknown'; readonly because: 'refused-once' | 'nobody-answered' };

/** A list is product 0. */
export interface AskedRecord {
  readonly resource: Resource;
  readonly product_id: number;
}

/**
 * Returns up to two other records to ask, or all there are, where a refusal may be about the key: the first one is on
 * another path. None: the list was refused before it has brought a product.
 */
export function othersOfKey(
  { resource, product_id }: AskedRecord,
  { resources, products }: { readonly resources: readonly Resource[]; readonly products: readonly number[] },
): AskedRecord[] {
  const others = products.filter((id) => id !== product_id);
  const paths = resources.filter((each) => each !== resource && !isList(each));
  const list: AskedRecord[] = resource === 'products' ? [] : [{ resource: 'products', product_id: 0 }];
  const same = isList(resource) ? [] : others.slice(-1).map((id) => ({ resource, product_id: id }));
  const elsewhere = paths.flatMap((path, index) => {
    const id = others.at(-1 - (index % 2)) ?? others[0] ?? product_id;
    return id === 0 ? [] : [{ resource: path, product_id: id }];
  });
  return [...list, ...same, ...elsewhere].slice(0, 2);
}

/** Judges a refusal by what the others have shown. */
export function reachOfKey(others: readonly Shown[]): Reach {
  if (others.includes('accepted')) return { to: 'record', because: 'another-accepted' };
  if (others.length === 0) return { to: 'key', because: 'account' };
  if (others.every((each) => each === 'refused')) return { to: 'key', because: 'all-refused' };
  return { to: 'record', because: 'nobody-answered' };
}

/** So many records of a path that has more must be refused. */
const leastRefused = 3;
/** Where a path has fewer, its second refusal counts after so long. For as long an answer shows that it is there. */
const apartMs = 60_000;

/**
 * Returns up to two other records on the same path. They stand at both ends of the list, because neighbours are often
 * withdrawn together.
 */
export function othersOfPath({ resource, product_id }: AskedRecord, products: readonly number[]): AskedRecord[] {
  const others = isList(resource) ? [] : products.filter((id) => id !== product_id);
  return [...others.slice(-1), ...others.slice(0, others.length > 1 ? 1 : 0)].map((id) => ({
    resource,
    product_id: id,
  }));
}

/** Tells whether a path has answered within the last minute: it is there, and nobody need be asked. */
export function isThere({ answered_at }: Pick<OfferFacts, 'answered_at'>, now: number): boolean {
  return answered_at !== null && answered_at <= now && now - answered_at < apartMs;
}

/** Judges a refusal of an optional path by what the others on it, asked at once, have shown. */
export function reachOfPath(
  others: readonly Shown[],
  { resource }: Pick<AskedRecord, 'resource'>,
  { answered_at, refused_at }: Pick<OfferFacts, 'answered_at' | 'refused_at'>,
  now: number,
): Reach {
  if (others.includes('accepted')) return { to: 'record', because: 'another-accepted' };
  if (others.includes('nothing')) return { to: 'unknown', because: 'nobody-answered' };
  if (others.length + 1 >= leastRefused) return { to: 'path', because: 'three-refused' };
  // One or two products may both be gone.
  if (answered_at !== null && !isList(resource)) return { to: 'record', because: 'products-gone' };
  const isAgain = refused_at !== null && now - refused_at >= apartMs;
  return isAgain ? { to: 'path', because: 'refused-again' } : { to: 'unknown', because: 'refused-once' };
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
  return put_at <= now && now - put_at < readsBehindMs ? 'too-early' : 'not-offered';
}
