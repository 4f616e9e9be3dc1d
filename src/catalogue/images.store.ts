import { type ChangeKind, changedFields } from '../feed/change.rules.ts';
import type { ChangeTable, FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import {
  type Bound,
  type Expression,
  type RawBuilder,
  type Reads,
  Store,
  sql,
  type Writes,
} from '../kernel/sqlite/statements.ts';
import { query, setBy } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { type Image, mayShow } from './image.rules.ts';
import { unsigned } from './signed-address.rules.ts';

type Row = Tables['image'];
type OfImage = { readonly product_id: number; readonly image_key: string };

/** A complete read of a product's images. */
export interface ImagesRead extends FoundBy {
  /** Instant at which the previous complete read was sent; null if this is the first. */
  readonly before_at: Instant | null;
  /** For a product that this read has `added` or brought back, the change feed reports no images. */
  readonly product: 'added' | 'known';
  readonly now: Instant;
}

/** The images of each product: those of its newest complete read (sent at `_product_read.images_verified_at`) stand, others are withdrawn. */
export class ImageTable extends Store<Writes> {
  readonly #stored = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('image').selectAll().where('product_id', '=', product_id),
  );
  readonly #put = this.db.change(putting);
  readonly #readdress = this.db.change(readdressing);
  readonly #withdraw = this.db.change(setBy('image', ['product_id', 'image_key'], ['withdrawn_at']));
  readonly #changes: ChangeTable;
  readonly #ledger: ImageLedger;

  constructor(db: Writes, changes: ChangeTable, ledger: ImageLedger) {
    super(db);
    this.#changes = changes;
    this.#ledger = ledger;
  }

  /** Replaces the images of a product by those of a complete read: one that is missing there is withdrawn. */
  replace(product_id: number, images: readonly Image[], by: ImagesRead): boolean {
    const { sent_at, before_at, product, now } = by;
    const tell = (kind: ChangeKind, detail: Record<string, unknown>) => {
      if (before_at !== null && product === 'known') this.#changes.add({ product_id, kind, detail }, by);
    };
    // Readers do not see it: the feed reports neither another credit nor that it goes.
    const isHidden = (row: Row | undefined) =>
      before_at === null || !mayShow(before_at, now) || (row?.doubted_at ?? -1) >= before_at;
    const rows = new Map(this.#stored({ product_id }).map((row) => [row.image_key, row]));
    let changed = false;
    const others: string[] = [];
    for (const image of images) {
      const { image_key, credit } = image;
      const row = rows.get(image_key);
      rows.delete(image_key);
      const hidden = isHidden(row);
      if (row?.withdrawn_at === null && (hidden || differsBesideCredit(row, image))) others.push(image_key);
      if (before_at === null) others.push(image_key);
      if (row?.withdrawn_at === null && row.document === image.document && row.position === image.position) continue;
      const of = { product_id, image_key };
      this.#put({ ...image, product_id, first_seen_at: row?.first_seen_at ?? sent_at });
      // Another signature of the same address is stored, and is no change.
      if (row?.withdrawn_at === null && row.position === image.position && isSame(row.document, image.document)) {
        this.#readdress({ ...of, document: image.document });
        continue;
      }
      if (row !== undefined && row.credit !== credit)
        this.#ledger.credited({ ...of, old: row.credit, new: credit, at: sent_at });
      if (row === undefined || row.withdrawn_at !== null) tell('image_added', { image_key, credit });
      else if (row.credit !== credit && !hidden)
        tell('image_credit_changed', { image_key, old: row.credit, new: credit });
      if (row !== undefined && row.withdrawn_at !== null) this.#ledger.returned({ ...of, at: sent_at });
      changed = true;
    }
    for (const row of rows.values()) {
      const { image_key, credit, withdrawn_at } = row;
      if (withdrawn_at !== null) continue;
      this.#withdraw({ product_id, image_key, withdrawn_at: sent_at });
      this.#ledger.takenDown({ product_id, image_key, credit, withdrawn_at: sent_at, verified_at: before_at });
      if (!isHidden(row)) tell('image_withdrawn', { image_key, credit });
      changed = true;
    }
    if (product === 'known' && others.length > 0)
      this.#changes.add({ product_id, kind: 'images_changed', detail: { image_keys: [...new Set(others)] } }, by);
    return changed;
  }
}

/** Columns of an image that come from its document. */
const said = { small_url: 'small', medium_url: 'medium', large_url: 'large', extra_large_url: 'extra_large', alt_text: 'alt_text' } as const; // biome-ignore format: a table
type Stored = Image & OfImage & { readonly first_seen_at: Instant };

/** Stores an image that stands. Its file stays; it belongs to the table that keeps files. */
function putting({ product_id, image_key, position, credit, document, first_seen_at }: Bound<Stored>) {
  const shown = Object.fromEntries(
    Object.entries(said).map(([column, name]) => [
      column,
      sql<string | null>`cast(json_extract(${document}, ${sql.lit(`$.${name}`)}) as text)`,
    ]),
  ) as Record<keyof typeof said, RawBuilder<string | null>>;
  const row = { position, credit, document, first_seen_at, withdrawn_at: null, ...shown };
  const file = query
    .selectFrom(['_image_file as f', '_mirror as m'])
    .select('f.file')
    .where('f.product_id', '=', product_id)
    .where('f.image_key', '=', image_key)
    .whereRef('f.size', '=', 'm.image_size');
  return query
    .insertInto('image')
    .values({ product_id, image_key, ...row, file, doubted_at: null })
    .onConflict((taken) => taken.doUpdateSet(row));
}

/** Gives the files of an image its addresses with another signature. They are not fetched again for it. */
function readdressing({ product_id, image_key, document }: Bound<OfImage & { document: string }>) {
  return query
    .updateTable('_image_file')
    .set((of) => ({ url: sql<string>`json_extract(${document}, '$.' || ${of.ref('size')})` }))
    .where('product_id', '=', product_id)
    .where('image_key', '=', image_key)
    .where((of) => sql<boolean>`json_type(${document}, '$.' || ${of.ref('size')}) = 'text'`);
}

/** Returns whether two documents of an image are the same but for signatures of its addresses. */
function isSame(before: string, document: string): boolean {
  return before === document || unsigned(before) === unsigned(document);
}

/** Returns whether an image that stands differs in anything but its credit, whose change has a kind of its own. */
function differsBesideCredit(row: Row, { position, document, credit }: Image): boolean {
  if (row.position !== position) return true;
  if (isSame(row.document, document)) return false;
  return (
    row.credit === credit ||
    changedFields(unsigned(row.document), unsigned(document)).some((name) => !/^credits?$/.test(name))
  );
}

/** A product whose images no complete read has confirmed for a while. */
export interface Unconfirmed {
  readonly product_id: number;
  /** Number of its images that are still shown, which ends 14 days after their last confirmation. */
  readonly images: number;
  readonly verified_at: number;
}

/** Queries about the image ledger. */
export class ImageLedgerReads<Db extends Reads = Reads> extends Store<Db> {
  /** Visible products with images that were last confirmed before an instant, the oldest first. */
  readonly unconfirmed = this.db.rows(({ before }: Before) => {
    const late = query
      .selectFrom('_product_read as r')
      .crossJoin('_product as p')
      .select((of) => ['p.product_id', of.ref('r.images_verified_at').$notNull().as('verified_at')])
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
      .whereRef('p.product_id', '=', 'r.product_id')
      .where('p.withdrawn_at', 'is', null)
      .where('r.images_verified_at', '<', before);
    return query
      .selectFrom(late.as('late'))
      .select(['product_id', 'images', 'verified_at'])
      .where('images', '>', 0)
      .orderBy('verified_at')
      .orderBy('product_id');
  });
}

type Before = Bound<{ before: Instant }>;
type At = { readonly at: Instant };

/** History of each image, for the audit. */
export class ImageLedger extends ImageLedgerReads<Writes> {
  readonly credited = this.db.change((bound: Bound<Tables['_image_credit']>) => {
    const { product_id, image_key, at, old } = bound;
    return query
      .insertInto('_image_credit')
      .values({ product_id, image_key, at, old, new: bound.new })
      .onConflict((taken) => taken.doUpdateSet({ new: bound.new }));
  });
  /** A complete read sent at `withdrawn_at` no longer returned it; `verified_at`: the last one that did. */
  readonly takenDown = this.db.change(
    (bound: Bound<OfImage & { credit: string | null; verified_at: Instant | null; withdrawn_at: Instant }>) =>
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
  /** A product is withdrawn, and its images with it. */
  readonly productTakenDown = this.db.change(
    ({ product_id, withdrawn_at }: Bound<{ product_id: number; withdrawn_at: Instant }>) =>
      takeDown(
        standing(product_id)
          .innerJoin('_product_read as r', 'r.product_id', 'i.product_id')
          .select(['i.product_id', 'i.image_key', withdrawn_at.as('withdrawn_at')])
          .select([
            'r.images_verified_at as verified_at',
            sql.lit<'image' | 'product'>('product').as('cause'),
            'i.credit',
          ])
          .where('i.withdrawn_at', 'is', null),
      ),
  );
  /** Records that an image that was taken down is returned again. */
  readonly returned = this.db.change(({ product_id, image_key, at }: Bound<OfImage & At>) =>
    query
      .updateTable('_image_takedown')
      .set({ returned_at: at })
      .where('product_id', '=', product_id)
      .where('image_key', '=', image_key)
      .where('returned_at', 'is', null),
  );
  /** Records that a withdrawn product is back, together with those of its images that may still be shown. */
  readonly productReturned = this.db.change(({ product_id, at }: Bound<At & { product_id: number }>) =>
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
  /** The image's host says that it is gone: hidden until a read sent later returns it. */
  readonly doubt = this.db.change(setBy('image', ['product_id', 'image_key'], ['doubted_at']));
  readonly #pruneImages = this.db.change(({ before }: Before) =>
    query.deleteFrom('image').where('withdrawn_at', '<', before),
  );
  readonly #pruneTakedowns = this.db.change(({ before }: Before) =>
    query.deleteFrom('_image_takedown').where('withdrawn_at', '<', before),
  );
  readonly #pruneCredits = this.db.change(({ before }: Before) =>
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

  /** Forgets images withdrawn before an instant; credits of those that are left are kept. Returns how many. */
  prune(before: Instant): number {
    const forgotten = this.#pruneImages({ before });
    this.#pruneTakedowns({ before });
    this.#pruneCredits({ before });
    return forgotten;
  }
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
