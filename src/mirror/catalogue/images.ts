import type { Instant } from '../../clock.ts';
import { type Image, mayShow } from '../../domain/catalogue/image.ts';
import { unsigned } from '../../domain/catalogue/signed-address.ts';
import { type ChangeKind, changedFields } from '../../domain/changes/change.ts';
import { type Bound, type RawBuilder, sql, type Writes } from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import type { ImageLedger, OfImage } from './image-ledger.ts';

type Row = Tables['image'];

/** The images of each product: those of its newest complete read (sent at `_product.images_verified_at`) stand, others are withdrawn. */
export interface ImageTable {
  /** Replaces the images of a product by those of a complete read: one that is missing there is withdrawn. */
  replace(product_id: number, images: readonly Image[], by: ImagesRead): boolean;
}

/** A complete read of a product's images. */
export interface ImagesRead extends FoundBy {
  /** Instant at which the previous complete read was sent; null if this is the first. */
  readonly before_at: Instant | null;
  /** For a product that this read has `added` or brought back, the change feed reports no images. */
  readonly product: 'added' | 'known';
  readonly now: Instant;
}

export function imageTable(db: Writes, changes: ChangeTable, ledger: ImageLedger): ImageTable {
  const stored = db.rows(({ product_id }: Bound<Pick<Row, 'product_id'>>) =>
    query.selectFrom('image').selectAll().where('product_id', '=', product_id),
  );
  const readdress = readdressing(db);
  const put = putting(db);
  const withdraw = db.change(({ product_id, image_key, at }: Bound<OfImage & { at: Instant }>) =>
    query
      .updateTable('image')
      .set({ withdrawn_at: at })
      .where('product_id', '=', product_id)
      .where('image_key', '=', image_key),
  );

  return {
    replace: (product_id, images, by) => {
      const { sent_at, before_at, product, now } = by;
      const tell = (kind: ChangeKind, detail: Record<string, unknown>) => {
        if (before_at !== null && product === 'known') changes.add({ product_id, kind, detail }, by);
      };
      // Readers do not see it: the feed reports neither another credit nor that it goes.
      const isHidden = (row: Row | undefined) =>
        before_at === null || !mayShow(before_at, now) || (row?.doubted_at ?? -1) >= before_at;
      const rows = new Map(stored.all({ product_id }).map((row) => [row.image_key, row]));
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
        put.run({ ...image, product_id, first_seen_at: row?.first_seen_at ?? sent_at });
        // Another signature of the same address is stored, and is no change.
        if (row?.withdrawn_at === null && row.position === image.position && isSame(row, image)) {
          readdress.run({ ...of, document: image.document });
          continue;
        }
        if (row !== undefined && row.credit !== credit) ledger.credited(of, { old: row.credit, new: credit }, sent_at);
        if (row === undefined || row.withdrawn_at !== null) tell('image_added', { image_key, credit });
        else if (row.credit !== credit && !hidden)
          tell('image_credit_changed', { image_key, old: row.credit, new: credit });
        if (row !== undefined && row.withdrawn_at !== null) ledger.returned(of, sent_at);
        changed = true;
      }
      for (const row of rows.values()) {
        const { image_key, credit, withdrawn_at } = row;
        if (withdrawn_at !== null) continue;
        withdraw.run({ product_id, image_key, at: sent_at });
        ledger.takenDown({ product_id, image_key }, credit, { withdrawn_at: sent_at, verified_at: before_at });
        if (!isHidden(row)) tell('image_withdrawn', { image_key, credit });
        changed = true;
      }
      if (product === 'known' && others.length > 0)
        changes.add({ product_id, kind: 'images_changed', detail: { image_keys: [...new Set(others)] } }, by);
      return changed;
    },
  };
}

/** Gives the files of an image its addresses with another signature. They are not fetched again for it. */
function readdressing(db: Writes) {
  return db.change(({ product_id, image_key, document }: Bound<Pick<Row, 'product_id' | 'image_key' | 'document'>>) =>
    query
      .updateTable('_image_file')
      .set((of) => ({ url: sql<string>`json_extract(${document}, '$.' || ${of.ref('size')})` }))
      .where('product_id', '=', product_id)
      .where('image_key', '=', image_key)
      .where((of) => sql<boolean>`json_type(${document}, '$.' || ${of.ref('size')}) = 'text'`),
  );
}

/** Columns of an image that come from its document. */
const said = { small_url: 'small', medium_url: 'medium', large_url: 'large', extra_large_url: 'extra_large', alt_text: 'alt_text' } as const; // biome-ignore format: a table

/** Stores an image that stands. Its file stays; it belongs to the table that keeps files. */
function putting(db: Writes) {
  type Stored = 'product_id' | 'image_key' | 'position' | 'credit' | 'document' | 'first_seen_at';
  return db.change(({ product_id, image_key, position, credit, document, first_seen_at }: Bound<Pick<Row, Stored>>) => {
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
  });
}

/** Returns whether two documents of an image are the same but for signatures of its addresses. */
function isSame(row: Pick<Row, 'document'>, { document }: Pick<Image, 'document'>): boolean {
  return row.document === document || unsigned(row.document) === unsigned(document);
}

/** Returns whether an image that stands differs in anything but its credit, whose change has a kind of its own. */
function differsBesideCredit(row: Row, { position, document, credit }: Image): boolean {
  if (row.position !== position) return true;
  if (isSame(row, { document })) return false;
  return (
    row.credit === credit ||
    changedFields(unsigned(row.document), unsigned(document)).some((name) => !/^credits?$/.test(name))
  );
}
