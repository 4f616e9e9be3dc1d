import { imageLimitMs } from '../../domain/catalogue/image.ts';
import { type ImageSize, type ImageType, imageSizes, longestWaitMs } from '../../domain/catalogue/image-file.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

export type ImageFile = Tables['image_file'];
export type ImageFileKey = Pick<ImageFile, 'product_id' | 'image_key' | 'size'>;

/** What a whole, verified file brings to its row. */
export interface StoredFile extends Pick<ImageFile, 'etag' | 'last_modified'> {
  readonly file: string;
  readonly checksum: string;
  readonly media_type: ImageType;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly fetched_at: number;
}

/** Products above `after` up to `last`. */
export interface ProductRange {
  readonly after: number;
  readonly last: number;
}

/**
 * The files of images, by product, image and size. What returns files returns those that no row uses any more: they
 * are to be removed. Every function that changes something runs inside the caller's transaction.
 */
export interface ImageFileTable {
  /** Whether no file is kept, or wanted. */
  isEmpty(): boolean;
  /** The range of the next `limit` products; null: there are no more. */
  rangeAfter(product_id: number, limit: number): ProductRange | null;
  /** Rows for what may be shown now, in these sizes; one whose URL has changed is due again. Returns how many are due by it. */
  want(range: ProductRange, sizes: readonly ImageSize[], now: number): number;
  /** Forgets what may not be shown any more, and (null: none) what is not of these sizes. */
  drop(range: ProductRange, sizes: readonly ImageSize[] | null, now: number): string[];
  /**
   * A read returned what its host said was gone: it is shown again, and its host asked when that is due. Instants that
   * cannot be (the clock was set back) count as absent.
   */
  confirm(now: number): void;
  /** Those due at `now`, those of the newest products last; `kept`: only those that have a file. */
  due(now: number, which: 'all' | 'kept', limit: number): ImageFile[];
  /** Products with a file that is due and was never fetched. */
  waitingProducts(now: number): number;
  /** The new file itself is among those that no row uses where nobody wants it, or not from this URL, any more. */
  stored(row: ImageFile, file: StoredFile, due_at: number): string[];
  unchanged(row: ImageFile, checked_at: number, due_at: number): void;
  /** What was kept stays. */
  failed(row: ImageFile, failure: { at: number; text: string; due_at: number }): void;
  /** The host has it no more: hidden until a read returns it, and what was kept goes. */
  gone(row: ImageFile, checked_at: number, due_at: number): string[];
  /** Nothing of an origin is due before an instant. */
  postpone(origin: string, until: number): void;
  /** Whether a row uses this file. */
  isUsed(file: string): boolean;
  files(): string[];
  /** Rows whose file is not there: fetched anew at once. */
  lost(files: readonly string[], now: number): number;
  /** Bytes that the files take together; a file that several rows use counts once. */
  bytes(): number;
}

const dayMs = 86_400_000;

export function imageFileTable(db: Database): ImageFileTable {
  const any = db.prepare('SELECT 1 FROM image_file LIMIT 1');
  const rangeAfter = db.prepare<[number, number], { last: number | null }>(
    'SELECT max(product_id) AS last FROM (SELECT product_id FROM product WHERE product_id > ? ORDER BY product_id LIMIT ?)',
  );
  // As the view `images` has it.
  const shown = `i.withdrawn_at IS NULL AND p.withdrawn_at IS NULL AND @now >= p.images_verified_at - ${dayMs} AND @now < p.images_verified_at + ${imageLimitMs}`;
  const range = 'p.product_id > @after AND p.product_id <= @last';
  const want = db.prepare<ProductRange & { sizes: string; now: number }>(
    `INSERT INTO image_file (product_id, image_key, size, url, due_at)
     SELECT i.product_id, i.image_key, s.value, json_extract(i.document, '$.' || s.value), @now
     FROM product p CROSS JOIN image i ON i.product_id = p.product_id CROSS JOIN json_each(@sizes) s
     WHERE ${range} AND ${shown} AND json_type(i.document, '$.' || s.value) = 'text'
     ON CONFLICT DO UPDATE SET url = excluded.url, due_at = @now, etag = NULL, last_modified = NULL, failures = 0, failure = NULL, failure_kind = NULL
     WHERE url <> excluded.url`,
  );
  const drop = db
    .prepare<ProductRange & { sizes: string; now: number }, string | null>(
      `DELETE FROM image_file AS f WHERE f.product_id > @after AND f.product_id <= @last AND NOT (
         f.size IN (SELECT value FROM json_each(@sizes))
         AND EXISTS (SELECT 1 FROM image i JOIN product p ON p.product_id = i.product_id
           WHERE i.product_id = f.product_id AND i.image_key = f.image_key AND ${shown}
             AND json_type(i.document, '$.' || f.size) = 'text'))
       RETURNING file`,
    )
    .pluck();
  const unused = db
    .prepare<[string], string>(
      `SELECT DISTINCT value FROM json_each(?) WHERE value NOT IN (SELECT file FROM image_file WHERE file IS NOT NULL)`,
    )
    .pluck();
  const confirm = db.prepare<{ now: number }>(
    `UPDATE image_file SET failure = NULL, failure_kind = NULL WHERE failure_kind = 'gone' AND (checked_at > @now + ${futureToleranceMs}
       OR checked_at < (SELECT p.images_verified_at FROM product p WHERE p.product_id = image_file.product_id))`,
  );
  const recover = db.prepare<{ now: number }>(
    `UPDATE image_file SET due_at = @now WHERE due_at > @now + ${longestWaitMs + futureToleranceMs}`,
  );
  const due = (which: string) =>
    db.prepare<[number, number], ImageFile>(
      `SELECT f.* FROM image_file f JOIN product p ON p.product_id = f.product_id WHERE f.due_at <= ? ${which}
       ORDER BY p.first_seen_at, f.product_id, f.image_key LIMIT ?`,
    );
  const dueAll = due('');
  const dueKept = due('AND f.file IS NOT NULL');
  const waiting = db
    .prepare<[number], number>(
      'SELECT count(DISTINCT product_id) FROM image_file WHERE file IS NULL AND due_at <= ? AND failure_kind IS NULL',
    )
    .pluck();
  const key = 'product_id = @product_id AND image_key = @image_key AND size = @size AND url = @url';
  const store = db.prepare(
    `UPDATE image_file SET file = @file, checksum = @checksum, media_type = @media_type, width = @width, height = @height,
       bytes = @bytes, etag = @etag, last_modified = @last_modified, fetched_at = @fetched_at, checked_at = @fetched_at,
       due_at = @due_at, failures = 0, failure = NULL, failure_kind = NULL WHERE ${key}`,
  );
  const check = db.prepare(
    `UPDATE image_file SET checked_at = @checked_at, due_at = @due_at, failures = 0, failure = NULL, failure_kind = NULL WHERE ${key}`,
  );
  const fail = db.prepare(
    `UPDATE image_file SET checked_at = @at, due_at = @due_at, failures = failures + 1, failure = @text, failure_kind = 'failed' WHERE ${key}`,
  );
  const gone = db.prepare(
    `UPDATE image_file SET file = NULL, checksum = NULL, media_type = NULL, width = NULL, height = NULL, bytes = NULL, etag = NULL,
       last_modified = NULL, checked_at = @checked_at, due_at = @due_at, failures = failures + 1, failure = 'gone', failure_kind = 'gone' WHERE ${key}`,
  );
  const postpone = db.prepare<{ origin: string; until: number }>(
    `UPDATE image_file SET due_at = @until WHERE due_at < @until AND substr(url, 1, length(@origin) + 1) = @origin || '/'`,
  );
  const isUsed = db.prepare<[string], number>('SELECT 1 FROM image_file WHERE file = ? LIMIT 1').pluck();
  const files = db.prepare<[], string>('SELECT DISTINCT file FROM image_file WHERE file IS NOT NULL').pluck();
  const lost = db.prepare<[number, string]>(
    `UPDATE image_file SET file = NULL, checksum = NULL, media_type = NULL, width = NULL, height = NULL, bytes = NULL, etag = NULL,
       last_modified = NULL, due_at = ? WHERE file IN (SELECT value FROM json_each(?))`,
  );
  const bytes = db
    .prepare<[], number>(
      'SELECT COALESCE(sum(bytes), 0) FROM (SELECT max(bytes) AS bytes FROM image_file WHERE file IS NOT NULL GROUP BY file)',
    )
    .pluck();

  const unusedOf = (some: readonly (string | null)[]) => {
    const named = some.filter((file) => file !== null);
    return named.length === 0 ? [] : unused.all(JSON.stringify(named));
  };
  const only = ({ product_id, image_key, size, url }: ImageFile) => ({ product_id, image_key, size, url });

  return {
    isEmpty: () => any.get() === undefined,
    rangeAfter: (after, limit) => {
      const last = rangeAfter.get(after, limit)?.last ?? null;
      return last === null ? null : { after, last };
    },
    want: (of, sizes, now) => want.run({ ...of, sizes: JSON.stringify(sizes), now }).changes,
    drop: (of, sizes, now) => unusedOf(drop.all({ ...of, sizes: JSON.stringify(sizes ?? imageSizes), now })),
    confirm: (now) => {
      confirm.run({ now });
      recover.run({ now });
    },
    due: (now, which, limit) => (which === 'all' ? dueAll : dueKept).all(now, limit),
    waitingProducts: (now) => waiting.get(now) ?? 0,
    stored: (row, file, due_at) => {
      store.run({ ...only(row), ...file, due_at });
      return unusedOf([row.file, file.file]);
    },
    unchanged: (row, checked_at, due_at) => {
      check.run({ ...only(row), checked_at, due_at });
    },
    failed: (row, { at, text, due_at }) => {
      fail.run({ ...only(row), at, text, due_at });
    },
    gone: (row, checked_at, due_at) => {
      gone.run({ ...only(row), checked_at, due_at });
      return unusedOf([row.file]);
    },
    postpone: (origin, until) => {
      postpone.run({ origin, until });
    },
    isUsed: (file) => isUsed.get(file) !== undefined,
    files: () => files.all(),
    lost: (some, now) => lost.run(now, JSON.stringify(some)).changes,
    bytes: () => bytes.get() ?? 0,
  };
}
