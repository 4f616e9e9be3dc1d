import type { Image } from '../domain/image.ts';
import type { Database } from '../sqlite/database-file.ts';
import { prepare, upsert } from './sql.ts';
import type { Tables } from './tables.ts';

type Row = Tables['image'];

/** The images of each product's newest complete read: when that was stands in `product.images_verified_at`. */
export interface ImageTable {
  /** Replaces the images of a product by those of a complete read: one that is missing there is gone. */
  replace(product_id: number, images: readonly Image[], sent_at: number): boolean;
  count(product_ids: readonly number[]): number;
}

export function imageTable(db: Database): ImageTable {
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
    replace: (product_id, images, sent_at) => {
      const rows = new Map(stored.all(product_id).map((row) => [row.image_key, row]));
      let changed = false;
      for (const image of images) {
        const row = rows.get(image.image_key);
        rows.delete(image.image_key);
        if (row?.document === image.document && row.position === image.position) continue;
        put.run({ ...image, product_id, first_seen_at: row?.first_seen_at ?? sent_at });
        changed = true;
      }
      for (const image_key of rows.keys()) drop.run(product_id, image_key);
      return changed || rows.size > 0;
    },
    count: (product_ids) => countOf.get(JSON.stringify(product_ids)) ?? 0,
  };
}
