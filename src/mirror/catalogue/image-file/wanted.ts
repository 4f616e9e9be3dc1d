import type { Instant } from '../../../clock.ts';
import { imageLimitMs } from '../../../domain/catalogue/image.ts';
import { type ImageSize, longestWaitMs } from '../../../domain/catalogue/image-file.ts';
import { futureToleranceMs } from '../../../domain/schedule/record.ts';
import {
  type Bound,
  type Expression,
  elements,
  listed,
  type RawBuilder,
  sql,
  type Writes,
} from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { ProductRange } from './image-file.ts';

/** Files that should exist: those of images that may be shown. */
export interface WantedFiles {
  rangeAfter(product_id: number, limit: number): ProductRange | null;
  want(range: ProductRange, sizes: readonly ImageSize[], now: Instant): number;
  /** Returns the file of each row that it dropped. */
  drop(range: ProductRange, sizes: readonly ImageSize[], now: Instant): (string | null)[];
  confirm(now: Instant): void;
}

const dayMs = 86_400_000;

type InRange = ProductRange & { readonly sizes: string; readonly now: Instant };

export function wantedFiles(db: Writes): WantedFiles {
  const rangeAfter = db.values(({ after, limit }: Bound<{ after: number; limit: number }>) =>
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
  return {
    rangeAfter: (after, limit) => {
      const last = rangeAfter.get({ after, limit }) ?? null;
      return last === null ? null : { after, last };
    },
    ...wanting(db),
    ...confirming(db),
  };
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
    .where('i.withdrawn_at', 'is', null)
    .where('p.withdrawn_at', 'is', null)
    .where((of) => {
      const verified_at = of.ref('p.images_verified_at');
      return sql<boolean>`${now} >= ${verified_at} - ${dayMs} and ${now} < ${verified_at} + ${imageLimitMs}`;
    });
}

/** Returns whether the service's document gives a URL for a size. */
function hasUrl(document: Expression<string>, size: Expression<string>): RawBuilder<boolean> {
  return sql`json_type(${document}, '$.' || ${size}) = 'text'`;
}

function wanting(db: Writes): Pick<WantedFiles, 'want' | 'drop'> {
  const want = db.change(({ after, last, sizes, now }: Bound<InRange>) =>
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
  const drop = db.returning(({ after, last, sizes, now }: Bound<InRange>) =>
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
  return {
    want: (range, sizes, now) => want.run({ ...range, sizes: JSON.stringify(sizes), now }).changes,
    drop: (range, sizes, now) => drop.all({ ...range, sizes: JSON.stringify(sizes), now }),
  };
}

function confirming(db: Writes): Pick<WantedFiles, 'confirm'> {
  const returned = db.change(() =>
    query
      .updateTable('_image_file as f')
      .set({ failure: null, failure_kind: null })
      .where('f.failure_kind', '=', 'gone')
      .where('f.checked_at', '<', (product) =>
        product
          .selectFrom('_product as p')
          .select('p.images_verified_at')
          .whereRef('p.product_id', '=', 'f.product_id'),
      ),
  );
  // A wrong clock may have set a pause that the repair of stored instants allows: up to 100 days.
  const recover = db.change(({ now }: Bound<{ now: Instant }>) =>
    query
      .updateTable('_image_file')
      .set({ due_at: now })
      .where((of) => of('due_at', '>', sql<Instant>`${now} + ${sql.lit(longestWaitMs + futureToleranceMs)}`)),
  );
  return {
    confirm: (now) => {
      returned.run();
      recover.run({ now });
    },
  };
}
