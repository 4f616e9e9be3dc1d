import { imageLimitMs, mayShow } from './image.rules.ts';

/** Time for which a takedown is reported. */
export const takedownsForMs = 90 * 24 * 60 * 60 * 1000;
/** A file is removed within a minute. A file that still exists after this time is a breach. */
const fileGraceMs = 2 * 60 * 1000;

/** An image that the view shows, with its facts from the tables. */
export interface PublishedImage {
  readonly product_id: number;
  readonly title: string | null;
  readonly image_key: string;
  /** URL of the largest size. */
  readonly url: string | null;
  readonly credit: string | null;
  /** Instants at which the first and the last read that returned it were sent. */
  readonly first_confirmed_at: number;
  readonly last_confirmed_at: number;
  readonly hidden_from: number;
  /** Within `images.directory`; null: no copy is kept. */
  readonly file: string | null;
  readonly checksum: string | null;
}

/** Facts of a shown image from the tables, independent of the view. */
export interface ImageStanding {
  readonly verified_at: number | null;
  /** The image or its product is withdrawn. */
  readonly withdrawn: 0 | 1;
}

/** An image that was taken down. The service's change lies between the two reads. */
export interface Takedown {
  readonly product_id: number;
  readonly title: string | null;
  readonly image_key: string;
  readonly credit: string | null;
  /** Instant at which the last read that returned it was sent; null if not known. */
  readonly last_confirmed_at: number | null;
  /** Instant at which the first read without it was sent, or at which the product was withdrawn. */
  readonly withdrawn_at: number;
  readonly cause: 'image' | 'product';
  /** Instant at which a later read returned it again; null if none did. */
  readonly returned_at: number | null;
}

export interface CreditChange {
  readonly product_id: number;
  readonly title: string | null;
  readonly image_key: string;
  readonly old: string | null;
  readonly new: string | null;
  readonly at: number;
}

/** A copy on disk. `shown`: its image is published. `hidden_at`: the instant since which it is not. */
export interface ImageCopy {
  readonly product_id: number;
  readonly image_key: string;
  readonly file: string;
  readonly shown: 0 | 1;
  readonly hidden_at: number;
}

/** An image that breaks the rule, and the reason. */
export interface Breach {
  readonly product_id: number;
  readonly image_key: string;
  readonly reason: 'not-confirmed' | 'withdrawn' | 'file-kept';
}

/** Returns the images that are shown although they must not be, and the kept files of images that must not be shown. */
export function breachesOf(
  published: readonly (PublishedImage & ImageStanding)[],
  files: readonly ImageCopy[],
  now: number,
): Breach[] {
  // Equal files are kept once. A file that another image still shows may stay.
  const shown = new Set(files.filter((each) => each.shown === 1).map(({ file }) => file));
  return [
    ...published.flatMap(({ product_id, image_key, verified_at, withdrawn }): Breach[] => {
      if (withdrawn === 1) return [{ product_id, image_key, reason: 'withdrawn' }];
      if (verified_at === null || !mayShow(verified_at, now))
        return [{ product_id, image_key, reason: 'not-confirmed' }];
      return [];
    }),
    ...files
      .filter(({ file, hidden_at }) => !shown.has(file) && now >= hidden_at + fileGraceMs)
      .map(({ product_id, image_key }): Breach => ({ product_id, image_key, reason: 'file-kept' })),
  ];
}

/**
 * Returns the instant since which an image that was taken down is not shown. After 14 days it was hidden without any
 * read.
 */
export function hiddenAt({ last_confirmed_at, withdrawn_at }: Takedown): number {
  return Math.min(withdrawn_at, last_confirmed_at === null ? withdrawn_at : last_confirmed_at + imageLimitMs);
}

/**
 * Returns how long an image may have been shown after the service withdrew it, at most, in milliseconds; null if not
 * known.
 */
export function shownAfterChange(takedown: Takedown): number | null {
  return takedown.last_confirmed_at === null ? null : Math.max(0, hiddenAt(takedown) - takedown.last_confirmed_at);
}
