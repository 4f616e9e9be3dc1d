import type { Instant } from '../../clock.ts';
import { type Bound, type Expression, type RawBuilder, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** A product whose images no complete read has confirmed for a while. */
export interface Unconfirmed {
  readonly product_id: number;
  /** Number of its images that are still shown, which ends 14 days after their last confirmation. */
  readonly images: number;
  readonly verified_at: number;
}

/** Queries about the image ledger. */
export interface ImageLedgerReads {
  /** Visible products with images that were last confirmed before an instant, the oldest first. */
  unconfirmed(before: Instant): Unconfirmed[];
}

/** History of each image, for the audit. */
export interface ImageLedger extends ImageLedgerReads {
  credited(image: OfImage, credits: { old: string | null; new: string | null }, at: Instant): void;
  /** A complete read sent at `withdrawn_at` no longer returned it; `verified_at`: the last one that did. */
  takenDown(image: OfImage, credit: string | null, read: { withdrawn_at: Instant; verified_at: Instant | null }): void;
  /** A product is withdrawn, and its images with it. */
  productTakenDown(product_id: number, withdrawn_at: Instant): void;
  /** Records that an image that was taken down is returned again. */
  returned(image: OfImage, at: Instant): void;
  /** Records that a withdrawn product is back, together with those of its images that may still be shown. */
  productReturned(product_id: number, at: Instant): void;
  /** The image's host says that it is gone: hidden until a read sent later returns it. */
  doubt(image: OfImage, at: Instant): void;
  /** Forgets images withdrawn before an instant; credits of those that are left are kept. Returns how many. */
  prune(before: Instant): number;
}

export interface OfImage {
  readonly product_id: number;
  readonly image_key: string;
}

interface At {
  readonly at: Instant;
}

type Before = Bound<{ before: Instant }>;

export function imageLedger(db: Writes): ImageLedger {
  return { ...imageLedgerReads(db), ...credits(db), ...takedowns(db), ...returns(db), ...pruning(db) };
}

export function imageLedgerReads(db: Reads): ImageLedgerReads {
  // By the index of what was confirmed longest ago: asked each minute, and usually none.
  const unconfirmed = db.rows(({ before }: Before) => {
    const late = query
      .selectFrom('_product as p')
      .select((of) => ['p.product_id', of.ref('p.images_verified_at').$notNull().as('verified_at')])
      .select((of) =>
        of
          .selectFrom('image as i')
          .select((image) => image.fn.countAll<number>().as('images'))
          .whereRef('i.product_id', '=', 'p.product_id')
          .where('i.withdrawn_at', 'is', null)
          .$asScalar()
          .$notNull()
          .as('images'),
      )
      .where('p.withdrawn_at', 'is', null)
      .where('p.images_verified_at', '<', before);
    return query
      .selectFrom(late.as('late'))
      .select(['product_id', 'images', 'verified_at'])
      .where('images', '>', 0)
      .orderBy('verified_at')
      .orderBy('product_id');
  });
  return { unconfirmed: (before) => unconfirmed.all({ before }) };
}

function credits(db: Writes): Pick<ImageLedger, 'credited' | 'doubt'> {
  const credited = db.change((bound: Bound<Tables['_image_credit']>) => {
    const { product_id, image_key, at, old } = bound;
    return query
      .insertInto('_image_credit')
      .values({ product_id, image_key, at, old, new: bound.new })
      .onConflict((taken) => taken.doUpdateSet({ new: bound.new }));
  });
  const doubt = db.change(({ product_id, image_key, at }: Bound<OfImage & At>) =>
    query
      .updateTable('image')
      .set({ doubted_at: at })
      .where('product_id', '=', product_id)
      .where('image_key', '=', image_key),
  );
  return {
    credited: (image, credit, at) => {
      credited.run({ ...image, ...credit, at });
    },
    doubt: (image, at) => {
      doubt.run({ ...image, at });
    },
  };
}

type Takedown = Pick<Tables['_image_takedown'], 'credit' | 'verified_at' | 'withdrawn_at'>;

function takedowns(db: Writes): Pick<ImageLedger, 'takenDown' | 'productTakenDown'> {
  const takenDown = db.change((bound: Bound<OfImage & Takedown>) =>
    takeDown(
      standing(bound.product_id)
        .select([
          bound.product_id.as('product_id'),
          bound.image_key.as('image_key'),
          bound.withdrawn_at.as('withdrawn_at'),
          bound.verified_at.as('verified_at'),
          sql.lit<'image' | 'product'>('image').as('cause'),
          bound.credit.as('credit'),
        ])
        .where('i.image_key', '=', bound.image_key),
    ),
  );
  const productTakenDown = db.change(
    ({ product_id, withdrawn_at }: Bound<Pick<OfImage, 'product_id'> & Pick<Takedown, 'withdrawn_at'>>) =>
      takeDown(
        standing(product_id)
          .innerJoin('_product as p', 'p.product_id', 'i.product_id')
          .select(['i.product_id', 'i.image_key', withdrawn_at.as('withdrawn_at')])
          .select([
            'p.images_verified_at as verified_at',
            sql.lit<'image' | 'product'>('product').as('cause'),
            'i.credit',
          ])
          .where('i.withdrawn_at', 'is', null),
      ),
  );
  return {
    takenDown: (image, credit, read) => {
      takenDown.run({ ...image, credit, ...read });
    },
    productTakenDown: (product_id, withdrawn_at) => {
      productTakenDown.run({ product_id, withdrawn_at });
    },
  };
}

function returns(db: Writes): Pick<ImageLedger, 'returned' | 'productReturned'> {
  const returned = db.change(({ product_id, image_key, at }: Bound<OfImage & At>) =>
    query
      .updateTable('_image_takedown')
      .set({ returned_at: at })
      .where('product_id', '=', product_id)
      .where('image_key', '=', image_key)
      .where('returned_at', 'is', null),
  );
  const productReturned = db.change(({ product_id, at }: Bound<Pick<OfImage, 'product_id'> & At>) =>
    query
      .updateTable('_image_takedown as t')
      .set({ returned_at: at })
      .where('t.product_id', '=', product_id)
      .where('t.returned_at', 'is', null)
      .where((of) =>
        of.exists(
          of
            .selectFrom('image as i')
            .select(of.lit(1).as('one'))
            .whereRef('i.product_id', '=', 't.product_id')
            .whereRef('i.image_key', '=', 't.image_key')
            .where('i.withdrawn_at', 'is', null),
        ),
      ),
  );
  return {
    returned: (image, at) => {
      returned.run({ ...image, at });
    },
    productReturned: (product_id, at) => {
      productReturned.run({ product_id, at });
    },
  };
}

/**
 * Returns the images of a product that are not taken down: one withdrawn with its product, and missing when that
 * returns, was once.
 */
function standing(product_id: RawBuilder<number>) {
  return query
    .selectFrom('image as i')
    .where('i.product_id', '=', product_id)
    .where((of) =>
      of.not(
        of.exists(
          of
            .selectFrom('_image_takedown as t')
            .select(of.lit(1).as('one'))
            .whereRef('t.product_id', '=', 'i.product_id')
            .whereRef('t.image_key', '=', 'i.image_key')
            .where('t.returned_at', 'is', null),
        ),
      ),
    );
}

function takeDown(images: Expression<Omit<Tables['_image_takedown'], 'returned_at'>>) {
  return query
    .insertInto('_image_takedown')
    .columns(['product_id', 'image_key', 'withdrawn_at', 'verified_at', 'cause', 'credit'])
    .expression(images)
    .onConflict((taken) => taken.doUpdateSet({ returned_at: null }));
}

function pruning(db: Writes): Pick<ImageLedger, 'prune'> {
  const images = db.change(({ before }: Before) => query.deleteFrom('image').where('withdrawn_at', '<', before));
  const takenDown = db.change(({ before }: Before) =>
    query.deleteFrom('_image_takedown').where('withdrawn_at', '<', before),
  );
  const credited = db.change(({ before }: Before) =>
    query
      .deleteFrom('_image_credit as c')
      .where('c.at', '<', before)
      .where((of) =>
        of.not(
          of.exists(
            of
              .selectFrom('image as i')
              .select(of.lit(1).as('one'))
              .whereRef('i.product_id', '=', 'c.product_id')
              .whereRef('i.image_key', '=', 'c.image_key'),
          ),
        ),
      ),
  );
  return {
    prune: (before) => {
      const forgotten = images.run({ before }).changes;
      takenDown.run({ before });
      credited.run({ before });
      return forgotten;
    },
  };
}
