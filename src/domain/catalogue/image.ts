import { hash } from 'node:crypto';

/**
 * Time for which an image may be shown after an authenticated read returned it (specification §1 rule 4): 14 days. The
 * view `images` has the same figure; a test holds them equal.
 */
export const imageLimitMs = 14 * 24 * 60 * 60 * 1000;
/** Age from which a read of its own product confirms an image, ahead of the sweeps. */
export const imagePressAfterMs = 10 * 24 * 60 * 60 * 1000;
/** Age from which a person is notified. */
export const imageUnconfirmedMs = 12 * 24 * 60 * 60 * 1000;
/** An instant further ahead than this was written with a wrong clock. */
const aheadMs = 24 * 60 * 60 * 1000;

/**
 * Returns whether an image may be shown at `now`, by the rule of the view. `verified_at` is the instant at which the
 * last complete read that returned it was sent.
 */
export function mayShow(verified_at: number, now: number): boolean {
  return now >= verified_at - aheadMs && now < verified_at + imageLimitMs;
}

/** One image of a product, as the newest complete read returned it. */
export interface Image {
  /** The stable asset name: see `imageKey`. */
  readonly image_key: string;
  /** From 0, in the service's order. */
  readonly position: number;
  /** `credit`, or `credits` of older answers, as it was sent, with markup; null if it is empty or blank. */
  readonly credit: string | null;
  /** The service's own JSON, with the addresses of its sizes and unknown members. */
  readonly document: string;
}

/**
 * Returns the key of an image: the last segment of the URL's path without its extension, in lower case, if that is 32
 * hex digits; else `u-` and 32 hex digits of a hash over host and path. The sizing query never counts. Null if `url` is
 * not a URL.
 */
export function imageKey(url: string): string | null {
  const parsed = URL.parse(url);
  if (parsed === null) return null;
  const name = (parsed.pathname.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(name) ? name : `u-${hash('sha256', parsed.host + parsed.pathname).slice(0, 32)}`;
}
