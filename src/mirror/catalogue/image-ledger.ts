import type { Database } from '../../sqlite/database-file.ts';

/** A product whose images no complete read has confirmed for a while. */
export interface Unconfirmed {
  readonly product_id: number;
  /** How many of its images stand: shown until their 14 days are over. */
  readonly images: number;
  readonly verified_at: number;
}

/** What happened to images, for the audit. Every function runs inside the caller's transaction. */
export interface ImageLedger {
  credited(image: OfImage, credits: { old: string | null; new: string | null }, at: number): void;
  /** A complete read sent at `withdrawn_at` no longer returned it; `verified_at`: the last one that did. */
  takenDown(image: OfImage, credit: string | null, read: { withdrawn_at: number; verified_at: number | null }): void;
  /** A product is withdrawn, and its images with it. */
  productTakenDown(product_id: number, withdrawn_at: number): void;
  /** What was taken down is returned again. */
  returned(image: OfImage, at: number): void;
  /** A withdrawn product is back, and with it those of its images that stand. */
  productReturned(product_id: number, at: number): void;
  /** The image's host says that it is gone: hidden until a read sent later returns it. */
  doubt(image: OfImage, at: number): void;
  /** Visible products with images that were last confirmed before an instant, the oldest first. */
  unconfirmed(before: number): Unconfirmed[];
  /** Forgets images withdrawn before an instant; credits of those that are left are kept. Returns how many. */
  prune(before: number): number;
}

export interface OfImage {
  readonly product_id: number;
  readonly image_key: string;
}

export function imageLedger(db: Database): ImageLedger {
  const credited = db.prepare(
    `INSERT INTO image_credit (product_id, image_key, at, old, new) VALUES (@product_id, @image_key, @at, @old, @new)
     ON CONFLICT DO UPDATE SET new = @new`,
  );
  const takeDown = (of: string) =>
    `INSERT INTO image_takedown (product_id, image_key, withdrawn_at, verified_at, cause, credit) ${of}
     ON CONFLICT DO UPDATE SET returned_at = NULL`;
  // Withdrawn with its product and missing when that returns: it was taken down once.
  const open = `EXISTS (SELECT 1 FROM image_takedown t WHERE t.product_id = i.product_id AND t.image_key = i.image_key AND t.returned_at IS NULL)`;
  const takenDown = db.prepare(
    takeDown(
      `SELECT @product_id, @image_key, @withdrawn_at, @verified_at, 'image', @credit FROM image i
       WHERE i.product_id = @product_id AND i.image_key = @image_key AND NOT ${open}`,
    ),
  );
  const productTakenDown = db.prepare(
    takeDown(
      `SELECT i.product_id, i.image_key, @withdrawn_at, p.images_verified_at, 'product', i.credit
       FROM image i JOIN product p ON p.product_id = i.product_id
       WHERE i.product_id = @product_id AND i.withdrawn_at IS NULL AND NOT ${open}`,
    ),
  );
  const returned = db.prepare(
    `UPDATE image_takedown SET returned_at = @at WHERE product_id = @product_id AND image_key = @image_key AND returned_at IS NULL`,
  );
  const productReturned = db.prepare(
    `UPDATE image_takedown AS t SET returned_at = @at WHERE product_id = @product_id AND returned_at IS NULL AND EXISTS
       (SELECT 1 FROM image i WHERE i.product_id = t.product_id AND i.image_key = t.image_key AND i.withdrawn_at IS NULL)`,
  );
  const doubt = db.prepare(
    'UPDATE image SET doubted_at = @at WHERE product_id = @product_id AND image_key = @image_key',
  );
  const unconfirmed = db.prepare<[number], Unconfirmed>(
    // By the index of what was confirmed longest ago: asked each minute, and usually none.
    `SELECT product_id, images, verified_at FROM (
       SELECT p.product_id, p.images_verified_at AS verified_at,
         (SELECT count(*) FROM image i WHERE i.product_id = p.product_id AND i.withdrawn_at IS NULL) AS images
       FROM product p WHERE p.withdrawn_at IS NULL AND p.images_verified_at < ?)
     WHERE images > 0 ORDER BY verified_at, product_id`,
  );
  const prune = db.prepare<[number]>('DELETE FROM image WHERE withdrawn_at < ?');
  const pruneTakedowns = db.prepare<[number]>('DELETE FROM image_takedown WHERE withdrawn_at < ?');
  const pruneCredits = db.prepare<[number]>(
    `DELETE FROM image_credit WHERE at < ? AND NOT EXISTS
       (SELECT 1 FROM image i WHERE i.product_id = image_credit.product_id AND i.image_key = image_credit.image_key)`,
  );
  return {
    credited: (image, credits, at) => {
      credited.run({ ...image, ...credits, at });
    },
    takenDown: (image, credit, read) => {
      takenDown.run({ ...image, credit, ...read });
    },
    productTakenDown: (product_id, withdrawn_at) => {
      productTakenDown.run({ product_id, withdrawn_at });
    },
    returned: (image, at) => {
      returned.run({ ...image, at });
    },
    productReturned: (product_id, at) => {
      productReturned.run({ product_id, at });
    },
    doubt: (image, at) => {
      doubt.run({ ...image, at });
    },
    unconfirmed: (before) => unconfirmed.all(before),
    prune: (before) => {
      const forgotten = prune.run(before).changes;
      pruneTakedowns.run(before);
      pruneCredits.run(before);
      return forgotten;
    },
  };
}
