import type { ChangeKind } from '../domain/change.ts';
import type { Image } from '../domain/image.ts';
import type { Database } from '../sqlite/database-file.ts';
import type { ChangeTable, FoundBy } from './changes.ts';
import { prepare, upsert } from './sql.ts';
import type { Tables } from './tables.ts';

type Row = Tables['image'];

/** The images of each product's newest complete read: when that was stands in `product.images_verified_at`. */
export interface ImageTable {
  /** Replaces the images of a product by those of a complete read: one that is missing there is gone. */
  replace(product_id: number, images: readonly Image[], by: ImagesRead): boolean;
  count(product_ids: readonly number[]): number;
}

/** A complete read of a product's images; the first one is not told of in the change feed. */
export interface ImagesRead extends FoundBy {
  readonly first: 'first' | 'again';
}

export function imageTable(db: Database, changes: ChangeTable): ImageTable {
  const stored = db.prepare<[number], Row>('SELECT * FROM image WHERE product_id = ?');
  const put = prepare<Row>(
    db,
    upsert('image', ['product_id', 'image_key'], ['position', 'credit', 'document', 'first_seen_at']),
  );
  const drop = db.prepare<[number, string]>('DELETE FROM image WHERE product_id = ? AND image_key = ?');
  const countOf = db
    .prepare<[string], number>('SELECT count(*) FROM image WHERE product_id IN (SELECT value FROM json_each(?))')
    .pluck();

  return {
    replace: (product_id, images, by) => {
      const { sent_at } = by;
      const tell = (kind: ChangeKind, detail: Record<string, unknown>) => {
        if (by.first === 'again') changes.add({ product_id, kind, detail }, by);
      };
      const rows = new Map(stored.all(product_id).map((row) => [row.image_key, row]));
      let changed = false;
      for (const image of images) {
        const row = rows.get(image.image_key);
        rows.delete(image.image_key);
        if (row?.document === image.document && row.position === image.position) continue;
        const { image_key, credit } = image;
        if (row === undefined) tell('image_added', { image_key, credit });
        else if (row.credit !== credit) tell('image_credit_changed', { image_key, old: row.credit, new: credit });
        put.run({ ...image, product_id, first_seen_at: row?.first_seen_at ?? sent_at });
        changed = true;
      }
      for (const [image_key, { credit }] of rows) {
        drop.run(product_id, image_key);
        tell('image_withdrawn', { image_key, credit });
      }
      return changed || rows.size > 0;
    },
    count: (product_ids) => countOf.get(JSON.stringify(product_ids)) ?? 0,
  };
}
