import { imageLimitMs } from '../../domain/catalogue/image.ts';
import type {
  CreditChange,
  ImageStanding,
  KeptFile,
  PublishedImage,
  Takedown,
} from '../../domain/catalogue/image-audit.ts';
import type { Database } from '../../sqlite/database-file.ts';

/** What an audit of the images is made of, all of one moment. */
export interface ImageFacts {
  readonly written_by: string;
  readonly filled_at: number | null;
  readonly published: readonly (PublishedImage & ImageStanding)[];
  /** Images that stand and are not shown: not confirmed for 14 days, or said by their host to be gone. */
  readonly hidden: number;
  readonly takedowns: readonly Takedown[];
  readonly credit_changes: readonly CreditChange[];
  /** Copies that the mirror knows of; whether they are there, the disk says. */
  readonly files: readonly KeptFile[];
}

/** In characters: a title is repeated with each of its images, and could be a megabyte. */
const titleAtMost = 200;

const titleOf = (table: string) =>
  `(SELECT substr(t.title, 1, ${titleAtMost}) FROM product_text t, mirror m WHERE t.product_id = ${table}.product_id AND t.language = m.language) AS title`;

/** Reads them from the file as a storefront has it. `since`: how far takedowns and credits go back. */
export function readImageFacts(db: Database, since: number): ImageFacts {
  return db.transaction(() => {
    const info = db
      .prepare<[], Pick<ImageFacts, 'written_by' | 'filled_at'>>('SELECT written_by, filled_at FROM mirror_info')
      .get();
    if (info === undefined) throw new Error('the mirror has no row about itself');
    return {
      ...info,
      published: published(db),
      hidden: hiddenCount(db),
      takedowns: db
        .prepare<[number], Takedown>(
          `SELECT d.product_id, ${titleOf('d')}, d.image_key, d.credit, d.verified_at AS last_confirmed_at, d.withdrawn_at, d.cause, d.returned_at
           FROM image_takedown d WHERE d.withdrawn_at >= ? ORDER BY d.withdrawn_at DESC, d.product_id, d.image_key`,
        )
        .all(since),
      credit_changes: db
        .prepare<[number], CreditChange>(
          `SELECT c.product_id, ${titleOf('c')}, c.image_key, c.old, c.new, c.at
           FROM image_credit c WHERE c.at >= ? ORDER BY c.at DESC, c.product_id, c.image_key`,
        )
        .all(since),
      files: files(db),
    };
  })();
}

/** Dates and withdrawals come from the tables: the view that is audited is not asked whether it is right. */
function published(db: Database): ImageFacts['published'] {
  return db
    .prepare<[], PublishedImage & ImageStanding>(
      `SELECT v.product_id, ${titleOf('v')}, v.image_key,
         COALESCE(v.extra_large_url, v.large_url, v.medium_url, v.small_url) AS url, v.credit,
         i.first_seen_at AS first_confirmed_at, v.verified_at AS last_confirmed_at, v.expires_at AS hidden_from, v.file,
         (SELECT f.checksum FROM image_file f, mirror m
           WHERE f.product_id = v.product_id AND f.image_key = v.image_key AND f.size = m.image_size AND f.file = v.file) AS checksum,
         p.images_verified_at AS verified_at, i.withdrawn_at IS NOT NULL OR p.withdrawn_at IS NOT NULL AS withdrawn
       FROM images v
       JOIN image i ON i.product_id = v.product_id AND i.image_key = v.image_key
       JOIN product p ON p.product_id = v.product_id
       ORDER BY v.product_id, v.position`,
    )
    .all();
}

function hiddenCount(db: Database): number {
  return (
    db
      .prepare<[], number>(
        `SELECT count(*) - (SELECT count(*) FROM images) FROM image i JOIN product p ON p.product_id = i.product_id
         WHERE i.withdrawn_at IS NULL AND p.withdrawn_at IS NULL`,
      )
      .pluck()
      .get() ?? 0
  );
}

function files(db: Database): readonly KeptFile[] {
  return db
    .prepare<[number], KeptFile>(
      `SELECT f.product_id, f.image_key, f.file, v.image_key IS NOT NULL AS shown,
         min(COALESCE(i.withdrawn_at, 9e15), COALESCE(p.withdrawn_at, 9e15), COALESCE(i.doubted_at, 9e15), COALESCE(p.images_verified_at, 0) + ?) AS hidden_at
       FROM image_file f
       LEFT JOIN images v ON v.product_id = f.product_id AND v.image_key = f.image_key
       LEFT JOIN image i ON i.product_id = f.product_id AND i.image_key = f.image_key
       LEFT JOIN product p ON p.product_id = f.product_id
       WHERE f.file IS NOT NULL`,
    )
    .all(imageLimitMs);
}
