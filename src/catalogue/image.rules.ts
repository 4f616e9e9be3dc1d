import { hash } from 'node:crypto';
import { dayMs } from '../kernel/clock.ts';

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

/*
 * Copies of the images' files: allowed types, paths, and times of the next request to their host.
 */

/** The four sizes of an image, by the names that the service's answers use. */
export type ImageSize = 'small' | 'medium' | 'large' | 'extra_large';
export const imageSizes: readonly ImageSize[] = ['small', 'medium', 'large', 'extra_large'];

/** Allowed file types, with their extensions. SVG is excluded because it can contain scripts. */
const extensions = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/gif': 'gif',
} as const;
export type ImageType = keyof typeof extensions;

/** Media types under which hosts send such files. Stores of objects send any file as a stream of bytes. */
const sentAs = [
  ...Object.keys(extensions),
  'image/jpg',
  'image/pjpeg',
  'application/octet-stream',
  'binary/octet-stream',
];

/** Returns whether an answer of a media type may be one of the files. Its bytes decide. */
export function mayBeImage(media_type: string): boolean {
  return sentAs.includes(media_type);
}

/** Returns the path `ab/cd/<checksum>.jpg`. It depends on the content only, so that equal files are kept once. */
export function filePath(checksum: string, type: ImageType): string {
  return `${checksum.slice(0, 2)}/${checksum.slice(2, 4)}/${checksum}.${extensions[type]}`;
}

/** Matches only paths that `filePath` returns, not other files beside them. */
export const filePattern = /^([0-9a-f]{2})\/([0-9a-f]{2})\/\1\2[0-9a-f]{60}\.(jpg|png|webp|avif|gif)$/;

/** Time after which a kept file is requested again. `If-None-Match` costs its host next to nothing. */
const recheckAfterMs = 7 * 24 * 60 * 60 * 1000;
/** Longest time until any file is due. */
export const longestWaitMs = recheckAfterMs;

/**
 * Returns when to ask the host again about a file that it has just confirmed. Spread out, because many were fetched
 * together.
 */
export function recheckAt(chance: number, now: number): number {
  return now + Math.round(recheckAfterMs * (0.9 + 0.1 * chance));
}

/**
 * Returns when to ask again after an answer that is unlikely to change soon: not an image, too large, gone, or a
 * refused URL.
 */
export function refusedAgainAt(chance: number, now: number): number {
  return now + Math.round(dayMs * (0.9 + 0.1 * chance));
}
