import type { Instant } from '../../../clock.ts';
import { type ImageSize, imageSizes } from '../../../domain/catalogue/image-file.ts';
import { type Bound, elements, type Writes } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import { dueFiles } from './due.ts';
import type { ImageFile, ProductRange, StoredFile } from './image-file.ts';
import { fileOutcomes } from './outcomes.ts';
import { wantedFiles } from './wanted.ts';

/**
 * The files of images, by product, image and size. What returns files returns those that no row uses any more: they
 * are to be removed.
 */
export interface ImageFileTable {
  /** Returns whether no file is kept, or wanted. */
  isEmpty(): boolean;
  /** Returns the range of the next `limit` products; null: there are no more. */
  rangeAfter(product_id: number, limit: number): ProductRange | null;
  /** Rows for what may be shown now, in these sizes; one whose URL has changed is due again. Returns how many are due by it. */
  want(range: ProductRange, sizes: readonly ImageSize[], now: Instant): number;
  /** Forgets what may not be shown any more, and (null: none) what is not of these sizes. */
  drop(range: ProductRange, sizes: readonly ImageSize[] | null, now: Instant): string[];
  /**
   * A read returned what its host said was gone: it is shown again, and its host asked when that is due. Instants that
   * cannot be (the clock was set back) count as absent.
   */
  confirm(now: Instant): void;
  /** Those due at `now`, those of the newest products last; `kept`: only those that have a file. */
  due(now: Instant, which: 'all' | 'kept', limit: number): ImageFile[];
  /** Products with a file that is due and was never fetched. */
  waitingProducts(now: Instant): number;
  /** The new file itself is among those that no row uses where nobody wants it, or not from this URL, any more. */
  stored(row: ImageFile, file: StoredFile, due_at: Instant): string[];
  unchanged(row: ImageFile, checked_at: Instant, due_at: Instant): void;
  /** Records a failed download. A kept file stays. */
  failed(row: ImageFile, failure: { at: Instant; text: string; due_at: Instant }): void;
  /** Records that the host no longer has the image: it is hidden until a read returns it, and the kept file is removed. */
  gone(row: ImageFile, checked_at: Instant, due_at: Instant): string[];
  /** Nothing of an origin is due before an instant. */
  postpone(origin: string, until: Instant): void;
  /** Returns whether a row uses this file. */
  isUsed(file: string): boolean;
  files(): string[];
  /** Rows whose file is not there: fetched again at once. */
  lost(files: readonly string[], now: Instant): number;
  /** Bytes that the files take together; a file that several rows use counts once. */
  bytes(): number;
}

export function imageFileTable(db: Writes): ImageFileTable {
  const wanted = wantedFiles(db);
  const outcomes = fileOutcomes(db);
  const isUsed = db.values(({ file }: Bound<{ file: string }>) =>
    query
      .selectFrom('_image_file')
      .select((of) => of.lit(1).as('one'))
      .where('file', '=', file)
      .limit(1),
  );
  const any = db.values(() =>
    query
      .selectFrom('_image_file')
      .select((of) => of.lit(1).as('one'))
      .limit(1),
  );
  const kept = query
    .selectFrom('_image_file')
    .select((of) => of.ref('file').$notNull().as('file'))
    .where('file', 'is not', null);
  const files = db.values(() => kept.distinct());
  const unused = db.values(({ some }: Bound<{ some: string }>) =>
    query.selectFrom(elements<string>(some).as('each')).select('value').distinct().where('value', 'not in', kept),
  );
  const bytes = db.values(() =>
    query
      .selectFrom(
        query
          .selectFrom('_image_file')
          .select((of) => of.fn.max('bytes').as('bytes'))
          .where('file', 'is not', null)
          .groupBy('file')
          .as('each'),
      )
      .select((of) => of.fn.coalesce(of.fn.sum<number>('bytes'), of.lit(0)).as('bytes')),
  );
  const unusedOf = (some: readonly (string | null)[]) => {
    const files = some.filter((file) => file !== null);
    return files.length === 0 ? [] : unused.all({ some: JSON.stringify(files) });
  };

  return {
    ...dueFiles(db),
    isEmpty: () => any.get() === undefined,
    rangeAfter: wanted.rangeAfter,
    want: wanted.want,
    drop: (range, sizes, now) => unusedOf(wanted.drop(range, sizes ?? imageSizes, now)),
    confirm: wanted.confirm,
    stored: (row, file, due_at) => {
      outcomes.stored(row, file, due_at);
      return unusedOf([row.file, file.file]);
    },
    unchanged: outcomes.unchanged,
    failed: outcomes.failed,
    gone: (row, checked_at, due_at) => {
      outcomes.gone(row, checked_at, due_at);
      return unusedOf([row.file]);
    },
    postpone: outcomes.postpone,
    lost: outcomes.lost,
    isUsed: (file) => isUsed.get({ file }) !== undefined,
    files: () => files.all(),
    bytes: () => bytes.get() ?? 0,
  };
}
