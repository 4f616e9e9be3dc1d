import { dayMs, type Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type Expression,
  elements,
  listed,
  type RawBuilder,
  Store,
  sql,
  type Writes,
} from '../kernel/sqlite/statements.ts';
import { query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { futureToleranceMs } from '../schedule/record.rules.ts';
import { type ImageSize, type ImageType, imageLimitMs, imageSizes, longestWaitMs } from './image.rules.ts';

export type ImageFile = Tables['_image_file'];

/** Columns of a row that are set when a complete, verified file is stored. */
export interface StoredFile {
  readonly etag: string | null;
  readonly last_modified: string | null;
  readonly file: string;
  readonly checksum: string;
  readonly media_type: ImageType;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly fetched_at: Instant;
}

/** Products above `after` up to `last`. */
interface ProductRange {
  readonly after: number;
  readonly last: number;
}

type InRange = ProductRange & { readonly sizes: string; readonly now: Instant };
type Due = Bound<{ now: Instant; limit: number }>;

/** A row without a file. */
const none = {
  file: null,
  checksum: null,
  media_type: null,
  width: null,
  height: null,
  bytes: null,
  etag: null,
  last_modified: null,
} as const;

const noFailure = { failures: 0, failure: null, failure_kind: null } as const;

/**
 * The files of images, by product, image and size. What returns files returns those that no row uses any more: they
 * are to be removed. The result of a request is recorded only if the row still has the URL that was requested.
 */
export class ImageFileTable extends Store<Writes> {
  readonly #any = this.db.value(() =>
    query
      .selectFrom('_image_file')
      .select((of) => of.lit(1).as('one'))
      .limit(1),
  );
  readonly #rangeAfter = this.db.value(({ after, limit }: Bound<{ after: number; limit: number }>) =>
    query
      .selectFrom(
        query
          .selectFrom('_product')
          .select('product_id')
          .where('product_id', '>', after)
          .orderBy('product_id')
          .limit(limit)
          .as('next'),
      )
      .select((of) => of.fn.max<number | null>('product_id').as('last')),
  );
  readonly #want = this.db.change(({ after, last, sizes, now }: Bound<InRange>) =>
    query
      .insertInto('_image_file')
      .columns(['product_id', 'image_key', 'size', 'url', 'due_at'])
      .expression(
        shownAt(now, 'products')
          .crossJoin(elements<ImageSize>(sizes).as('s'))
          .select((of) => [
            'i.product_id',
            'i.image_key',
            's.value as size',
            sql<string>`json_extract(${of.ref('i.document')}, '$.' || ${of.ref('s.value')})`.as('url'),
            now.as('due_at'),
          ])
          .where('p.product_id', '>', after)
          .where('p.product_id', '<=', last)
          .where((of) => hasUrl(of.ref('i.document'), of.ref('s.value'))),
      )
      .onConflict((taken) =>
        taken
          .doUpdateSet((of) => ({
            url: of.ref('excluded.url'),
            due_at: now,
            etag: null,
            last_modified: null,
            failures: 0,
            failure: null,
            failure_kind: null,
          }))
          .whereRef('_image_file.url', '<>', 'excluded.url'),
      ),
  );
  readonly #drop = this.db.returning(({ after, last, sizes, now }: Bound<InRange>) =>
    query
      .deleteFrom('_image_file as f')
      .where('f.product_id', '>', after)
      .where('f.product_id', '<=', last)
      .where((of) =>
        of.not(
          of.and([
            of('f.size', 'in', listed<ImageSize>(sizes)),
            of.exists(
              shownAt(now, 'any')
                .select((image) => image.lit(1).as('one'))
                .where('i.product_id', '=', of.ref('f.product_id'))
                .where('i.image_key', '=', of.ref('f.image_key'))
                .where((image) => hasUrl(image.ref('i.document'), of.ref('f.size'))),
            ),
          ]),
        ),
      )
      .returning('file'),
  );
  readonly #returned = this.db.change(() =>
    query
      .updateTable('_image_file as f')
      .set({ failure: null, failure_kind: null })
      .where('f.failure_kind', '=', 'gone')
      .where('f.checked_at', '<', (product) =>
        product
          .selectFrom('_product_read as r')
          .select('r.images_verified_at')
          .whereRef('r.product_id', '=', 'f.product_id'),
      ),
  );
  // A wrong clock may have set a pause that the repair of stored instants allows: up to 100 days.
  readonly #recover = this.db.change(({ now }: Bound<{ now: Instant }>) =>
    query
      .updateTable('_image_file')
      .set({ due_at: now })
      .where((of) => of('due_at', '>', sql<Instant>`${now} + ${sql.lit(longestWaitMs + futureToleranceMs)}`)),
  );
  readonly #due = {
    all: this.db.rows(dueAt),
    kept: this.db.rows((bound: Due) => dueAt(bound).where('f.file', 'is not', null)),
  };
  readonly #waiting = this.db.value(({ now }: Bound<{ now: Instant }>) =>
    query
      .selectFrom('_image_file')
      .select((of) => of.fn.count<number>('product_id').distinct().as('products'))
      .where('file', 'is', null)
      .where('due_at', '<=', now)
      .where('failure_kind', 'is', null),
  );
  readonly #store = this.db.change((bound: Bound<ImageFile & StoredFile>) => {
    const { file, checksum, media_type, width, height, bytes, etag, last_modified, fetched_at, due_at } = bound;
    return rowOf(bound)
      .set({ file, checksum, media_type, width, height, bytes, etag, last_modified })
      .set({ fetched_at, checked_at: fetched_at, due_at, ...noFailure });
  });
  readonly #check = this.db.change((bound: Bound<ImageFile>) =>
    rowOf(bound).set({ checked_at: bound.checked_at, due_at: bound.due_at, ...noFailure }),
  );
  readonly #fail = this.db.change((bound: Bound<ImageFile & { text: string }>) =>
    rowOf(bound)
      .set({ checked_at: bound.checked_at, due_at: bound.due_at, failure: bound.text, failure_kind: 'failed' })
      .set((of) => ({ failures: of('failures', '+', 1) })),
  );
  readonly #gone = this.db.change((bound: Bound<ImageFile>) =>
    rowOf(bound)
      .set({ ...none, checked_at: bound.checked_at, due_at: bound.due_at, failure: 'gone', failure_kind: 'gone' })
      .set((of) => ({ failures: of('failures', '+', 1) })),
  );
  readonly #postpone = this.db.change(({ origin, until }: Bound<{ origin: string; until: Instant }>) =>
    query
      .updateTable('_image_file')
      .set({ due_at: until })
      .where('due_at', '<', until)
      .where((of) => sql<boolean>`substr(${of.ref('url')}, 1, length(${origin}) + 1) = ${origin} || '/'`),
  );
  readonly #lost = this.db.change(({ files, now }: Bound<{ files: string; now: Instant }>) =>
    query
      .updateTable('_image_file')
      .set({ ...none, due_at: now })
      .where('file', 'in', listed<string>(files)),
  );
  readonly #isUsed = this.db.value(({ file }: Bound<{ file: string }>) =>
    query
      .selectFrom('_image_file')
      .select((of) => of.lit(1).as('one'))
      .where('file', '=', file)
      .limit(1),
  );
  readonly #files = this.db.values(() => kept().distinct());
  readonly #unused = this.db.values(({ some }: Bound<{ some: string }>) =>
    query.selectFrom(elements<string>(some).as('each')).select('value').distinct().where('value', 'not in', kept()),
  );
  readonly #bytes = this.db.value(() =>
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

  /** Returns whether no file is kept, or wanted. */
  isEmpty(): boolean {
    return this.#any() === null;
  }

  /** Returns the range of the next `limit` products; null: there are no more. */
  rangeAfter(after: number, limit: number): ProductRange | null {
    const last = this.#rangeAfter({ after, limit });
    return last === null ? null : { after, last };
  }

  /** Rows for what may be shown now, in these sizes; one whose URL has changed is due again. Returns how many are due by it. */
  want(range: ProductRange, sizes: readonly ImageSize[], now: Instant): number {
    return this.#want({ ...range, sizes: JSON.stringify(sizes), now });
  }

  /** Forgets what may not be shown any more, and (null: none) what is not of these sizes. */
  drop(range: ProductRange, sizes: readonly ImageSize[] | null, now: Instant): string[] {
    return this.#unusedOf(this.#drop({ ...range, sizes: JSON.stringify(sizes ?? imageSizes), now }));
  }

  /**
   * A read returned what its host said was gone: it is shown again, and its host asked when that is due. Instants that
   * cannot be (the clock was set back) count as absent.
   */
  confirm(now: Instant): void {
    this.#returned();
    this.#recover({ now });
  }

  /** Those due at `now`, those of the newest products last; `kept`: only those that have a file. */
  due(now: Instant, which: 'all' | 'kept', limit: number): ImageFile[] {
    return this.#due[which]({ now, limit });
  }

  /** Products with a file that is due and was never fetched. */
  waitingProducts(now: Instant): number {
    return this.#waiting({ now }) ?? 0;
  }

  /** The new file itself is among those that no row uses where nobody wants it, or not from this URL, any more. */
  stored(row: ImageFile, file: StoredFile, due_at: Instant): string[] {
    this.#store({ ...row, ...file, due_at });
    return this.#unusedOf([row.file, file.file]);
  }

  unchanged(row: ImageFile, checked_at: Instant, due_at: Instant): void {
    this.#check({ ...row, checked_at, due_at });
  }

  /** Records a failed download. A kept file stays. */
  failed(row: ImageFile, { at, text, due_at }: { at: Instant; text: string; due_at: Instant }): void {
    this.#fail({ ...row, checked_at: at, text, due_at });
  }

  /** Records that the host no longer has the image: it is hidden until a read returns it, and the kept file is removed. */
  gone(row: ImageFile, checked_at: Instant, due_at: Instant): string[] {
    this.#gone({ ...row, checked_at, due_at });
    return this.#unusedOf([row.file]);
  }

  /** Nothing of an origin is due before an instant. */
  postpone(origin: string, until: Instant): void {
    this.#postpone({ origin, until });
  }

  /** Returns whether a row uses this file. */
  isUsed(file: string): boolean {
    return this.#isUsed({ file }) !== null;
  }

  files(): string[] {
    return this.#files();
  }

  /** Rows whose file is not there: fetched again at once. */
  lost(files: readonly string[], now: Instant): number {
    return this.#lost({ files: JSON.stringify(files), now });
  }

  /** Bytes that the files take together; a file that several rows use counts once. */
  bytes(): number {
    return this.#bytes() ?? 0;
  }

  #unusedOf(some: readonly (string | null)[]): string[] {
    const files = some.filter((file) => file !== null);
    return files.length === 0 ? [] : this.#unused({ some: JSON.stringify(files) });
  }
}

/**
 * Returns the images that the view `images` shows at an instant, as `i`; in the order of products where a range of them
 * is read.
 */
function shownAt(now: RawBuilder<number>, order: 'any' | 'products') {
  const products = query.selectFrom('_product as p');
  const images =
    order === 'products'
      ? products.crossJoin('image as i').whereRef('i.product_id', '=', 'p.product_id')
      : products.innerJoin('image as i', 'i.product_id', 'p.product_id');
  return images
    .innerJoin('_product_read as r', 'r.product_id', 'p.product_id')
    .where('i.withdrawn_at', 'is', null)
    .where('p.withdrawn_at', 'is', null)
    .where((of) => {
      const verified_at = of.ref('r.images_verified_at');
      return sql<boolean>`${now} >= ${verified_at} - ${dayMs} and ${now} < ${verified_at} + ${imageLimitMs}`;
    });
}

/** Returns whether the service's document gives a URL for a size. */
function hasUrl(document: Expression<string>, size: Expression<string>): RawBuilder<boolean> {
  return sql`json_type(${document}, '$.' || ${size}) = 'text'`;
}

function dueAt({ now, limit }: Due) {
  return query
    .selectFrom('_image_file as f')
    .innerJoin('_product as p', 'p.product_id', 'f.product_id')
    .selectAll('f')
    .where('f.due_at', '<=', now)
    .orderBy('p.first_seen_at')
    .orderBy('f.product_id')
    .orderBy('f.image_key')
    .limit(limit);
}

function rowOf({ product_id, image_key, size, url }: Bound<ImageFile>) {
  return query
    .updateTable('_image_file')
    .where('product_id', '=', product_id)
    .where('image_key', '=', image_key)
    .where('size', '=', size)
    .where('url', '=', url);
}

function kept() {
  return query
    .selectFrom('_image_file')
    .select((of) => of.ref('file').$notNull().as('file'))
    .where('file', 'is not', null);
}
