import type { OfferFacts, RefusalOf } from '../schedule/offer.rules.ts';
import { isList, type Resource } from '../schedule/resources.rules.ts';

/*
 * Decides how far a refusal reaches: to its record, to a path that the service may lack, or to the key of the account.
 * One refusal concerns its record alone. Other records are read before it concerns more.
 */

/** Outcome of a call, as far as it matters for refusals. */
interface Said {
  readonly kind: string;
  readonly status?: number;
}

const refusing: Readonly<Record<RefusalOf, readonly number[]>> = { key: [401, 403], path: [404, 405] };

/**
 * Returns whether an answer may be a refusal of the key (or of the path). A single answer cannot distinguish that from
 * a refusal of the record alone.
 */
export function refuses(about: RefusalOf, { kind, status = 0 }: Said): boolean {
  return (kind === 'refused' || kind === 'missing') && refusing[about].includes(status);
}

/** Prefix of a failure's code if the service refuses or throttles one record but accepts the key for others. */
export const refusedCode = 'refused-';

/** Evidence of the answer to another record about the key or the path. */
export type Shown = 'refused' | 'accepted' | 'nothing';

/**
 * Returns what an answer proves. With a refused key the service would answer neither that a product is missing nor with
 * an error about one.
 */
export function shownBy(about: RefusalOf, said: Said): Shown {
  const { kind, status } = said;
  if (refuses(about, said)) return 'refused';
  if (kind === 'answer' || kind === 'read' || kind === 'unchanged') return 'accepted';
  return about === 'key' && (kind === 'refused' || (kind === 'failed' && status !== undefined))
    ? 'accepted'
    : 'nothing';
}

/**
 * Reach of a refusal, and the reason. `unknown`: the record is read again in a minute, and does not count as failed.
 */
export type Reach =
  | { readonly to: 'record'; readonly because: 'specified' | 'another-accepted' | 'nobody-answered' | 'products-gone' }
  // The record fails, and that says nothing about its product.
  | { readonly to: 'record'; readonly because: 'others-refused' }
  | { readonly to: 'key'; readonly because: 'all-refused' | 'account' | 'known' }
  | { readonly to: 'path'; readonly because: 'three-refused' | 'refused-again' | 'list-refused' | 'known' }
  | { readonly to: 'unknown'; readonly because: 'refused-once' | 'nobody-answered' };

/** A record to read. A list has product id 0. */
export interface AskedRecord {
  readonly resource: Resource;
  readonly product_id: number;
}

/**
 * Returns up to two other records to read when a refusal may be about the key; fewer if there are fewer. The first one
 * is on another path. Empty if the list was refused before it has brought a product.
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

/** Judges a possible refusal of the key by the answers to the other records. */
export function reachOfKey(others: readonly Shown[]): Reach {
  if (others.includes('accepted')) return { to: 'record', because: 'another-accepted' };
  if (others.length === 0) return { to: 'key', because: 'account' };
  if (others.every((each) => each === 'refused')) return { to: 'key', because: 'all-refused' };
  return { to: 'record', because: 'nobody-answered' };
}

/** Number of records of a path that must be refused, if it has so many. */
const leastRefused = 3;
/**
 * If a path has fewer records, its second refusal counts after this time. An answer proves for as long that the path
 * exists.
 */
const apartMs = 60_000;

/**
 * Returns up to two other records on the same path. They are at both ends of the list, because neighbours are often
 * withdrawn together.
 */
export function othersOfPath({ resource, product_id }: AskedRecord, products: readonly number[]): AskedRecord[] {
  const others = isList(resource) ? [] : products.filter((id) => id !== product_id);
  return [...others.slice(-1), ...others.slice(0, others.length > 1 ? 1 : 0)].map((id) => ({
    resource,
    product_id: id,
  }));
}

/** Returns whether a path has answered within the last minute: then it exists, and no other record has to be read. */
export function isThere({ answered_at }: OfferFacts, now: number): boolean {
  return answered_at !== null && answered_at <= now && now - answered_at < apartMs;
}

/** Judges a refusal of an optional path by the answers to other records on it, which are read at once. */
export function reachOfPath(
  others: readonly Shown[],
  { resource }: AskedRecord,
  { answered_at, refused_at }: OfferFacts,
  now: number,
): Reach {
  if (others.includes('accepted')) return { to: 'record', because: 'another-accepted' };
  if (others.includes('nothing')) return { to: 'unknown', because: 'nobody-answered' };
  if (others.length + 1 >= leastRefused) return { to: 'path', because: 'three-refused' };
  // One or two products may both be gone.
  if (answered_at !== null && !isList(resource)) return { to: 'record', because: 'products-gone' };
  // Nothing of it is shown, and it is requested again in a minute: until then no first fill waits for it.
  if (answered_at === null && isList(resource)) return { to: 'path', because: 'list-refused' };
  const isAgain = refused_at !== null && now - refused_at >= apartMs;
  return isAgain ? { to: 'path', because: 'refused-again' } : { to: 'unknown', because: 'refused-once' };
}

/** Returns whether an answer says that there is no such record, now or ever again. */
export function meansGone({ kind, status }: Said): boolean {
  return kind === 'refused' && (status === 404 || status === 410);
}

/**
 * Judges such an answer where the path is no question. It fails the record, but is evidence about the product only if
 * another one is answered: a fault of routing says the same of each, and so does a version that is retired.
 */
export function reachBeside(others: readonly Shown[]): Reach {
  return { to: 'record', because: others.includes('accepted') ? 'another-accepted' : 'others-refused' };
}

/** Returns whether a refusal with 404 or 410 is evidence that the service does not have the product. */
export function isAboutProduct({ to, because }: Reach): boolean {
  return to === 'record' && because !== 'others-refused';
}

/**
 * Time for which the service's reads may be cached: a subscription that was put more recently does not count as
 * missing.
 */
const readsBehindMs = 5 * 60_000;

/**
 * Decides what a 404 or 405 to the read of a subscription means. `missing`: there is none yet, or it is lost.
 * `doubted`: the same, but no read was ever answered. A PUT fixes both. `too-early`: it was put less than five minutes
 * ago. `not-offered`: subscriptions cannot be read, because one that was put again after a 404 is not found either;
 * then the answer to the PUT is trusted.
 */
export function judgeSubscriptionRead(
  status: 404 | 405,
  { answered_at, refused_at }: OfferFacts,
  { put_at, now }: { readonly put_at: number | null; readonly now: number },
): 'missing' | 'doubted' | 'too-early' | 'not-offered' {
  if (status === 405) return 'not-offered';
  if (answered_at !== null || put_at === null) return 'missing';
  if (refused_at === null || put_at < refused_at) return 'doubted';
  return now - put_at < readsBehindMs ? 'too-early' : 'not-offered';
}
