import { type Instant, instant } from '../kernel/clock.ts';
import type { Database } from '../kernel/sqlite/database-file.ts';
import { type Bound, type Expression, type Reads, readsOf, sql } from '../kernel/sqlite/statements.ts';
import { query } from '../mirror/sql/sql.ts';
import { imageLimitMs } from './image.rules.ts';
import type { CreditChange, ImageCopy, ImageStanding, PublishedImage, Takedown } from './image-audit.rules.ts';
import { ofPrimaryText } from './product-reads.store.ts';

/** Data from which an image audit is made, all read at one moment. */
export interface ImageFacts {
  readonly written_by: string;
  readonly filled_at: Instant | null;
  readonly published: readonly (PublishedImage & ImageStanding)[];
  /** Images that stand and are not shown: not confirmed for 14 days, or said by their host to be gone. */
  readonly hidden: number;
  readonly takedowns: readonly Takedown[];
  readonly credit_changes: readonly CreditChange[];
  /** Copies that the mirror knows of; whether they are there, the disk says. */
  readonly files: readonly ImageCopy[];
}

/** In characters: a title is repeated with each of its images, and could be a megabyte. */
const titleAtMost = 200;

/** The title of a product, cut off there. */
export function titleOf(product_id: Expression<number>) {
  return ofPrimaryText(product_id).select((text) =>
    sql<string | null>`substr(${text.ref('t.title')}, 1, ${titleAtMost})`.as('title'),
  );
}

/** Reads them from the file as a storefront has it. `since`: how far takedowns and credits go back. */
export function readImageFacts(connection: Database, since: Instant): ImageFacts {
  const db = readsOf(connection);
  return db.snapshot(() => {
    const info = db.row(() => query.selectFrom('mirror_info').select(['written_by', 'filled_at']))();
    if (info === null) throw new Error('the mirror has no row about itself');
    return {
      ...info,
      published: published(db),
      hidden: hiddenCount(db),
      takedowns: takedowns(db, since),
      credit_changes: creditChanges(db, since),
      files: files(db),
    };
  });
}

/** Returns what was taken down since an instant, the newest first. */
export function takedowns(db: Reads, at: Instant): readonly Takedown[] {
  const rows = db.rows(({ since }: Bound<{ since: Instant }>) =>
    query
      .selectFrom('_image_takedown as d')
      .select((of) => titleOf(of.ref('d.product_id')).as('title'))
      .select(['d.product_id', 'd.image_key', 'd.credit', 'd.verified_at as last_confirmed_at', 'd.withdrawn_at'])
      .select(['d.cause', 'd.returned_at'])
      .where('d.withdrawn_at', '>=', since)
      .orderBy('d.withdrawn_at', 'desc')
      .orderBy('d.product_id')
      .orderBy('d.image_key'),
  );
  return rows({ since: at });
}

/** Returns the credits that changed since an instant, the newest first. */
export function creditChanges(db: Reads, at: Instant): readonly CreditChange[] {
  const rows = db.rows(({ since }: Bound<{ since: Instant }>) =>
    query
      .selectFrom('_image_credit as c')
      .select((of) => titleOf(of.ref('c.product_id')).as('title'))
      .select(['c.product_id', 'c.image_key', 'c.old', 'c.new', 'c.at'])
      .where('c.at', '>=', since)
      .orderBy('c.at', 'desc')
      .orderBy('c.product_id')
      .orderBy('c.image_key'),
  );
  return rows({ since: at });
}

/** Dates and withdrawals come from the tables: the view that is audited is not asked whether it is right. */
function published(db: Reads): ImageFacts['published'] {
  const rows = db.rows(() =>
    query
      .selectFrom('images as v')
      .innerJoin('image as i', (join) =>
        join.onRef('i.product_id', '=', 'v.product_id').onRef('i.image_key', '=', 'v.image_key'),
      )
      .innerJoin('_product as p', 'p.product_id', 'v.product_id')
      .innerJoin('_product_read as a', 'a.product_id', 'v.product_id')
      .select((of) => titleOf(of.ref('v.product_id')).as('title'))
      .select(['v.product_id', 'v.image_key', 'v.credit', 'v.file'])
      .select(['i.first_seen_at as first_confirmed_at', 'v.verified_at as last_confirmed_at'])
      .select(['v.expires_at as hidden_from', 'a.images_verified_at as verified_at'])
      .select((of) => [
        of.fn.coalesce('v.extra_large_url', 'v.large_url', 'v.medium_url', 'v.small_url').as('url'),
        of
          .selectFrom(['_image_file as f', '_mirror as m'])
          .select('f.checksum')
          .whereRef('f.product_id', '=', 'v.product_id')
          .whereRef('f.image_key', '=', 'v.image_key')
          .whereRef('f.size', '=', 'm.image_size')
          .whereRef('f.file', '=', 'v.file')
          .as('checksum'),
        sql<0 | 1>`${of.ref('i.withdrawn_at')} is not null or ${of.ref('p.withdrawn_at')} is not null`.as('withdrawn'),
      ])
      .orderBy('v.product_id')
      .orderBy('v.position'),
  );
  return rows();
}

function hiddenCount(db: Reads): number {
  const shown = query.selectFrom('images').select((of) => of.fn.countAll<number>().as('images'));
  const hidden = db.value(() =>
    query
      .selectFrom('image as i')
      .innerJoin('_product as p', 'p.product_id', 'i.product_id')
      .select((of) => of(of.fn.countAll<number>(), '-', shown.$asScalar().$notNull()).as('hidden'))
      .where('i.withdrawn_at', 'is', null)
      .where('p.withdrawn_at', 'is', null),
  );
  return hidden() ?? 0;
}

/** Later than any instant. */
const never = instant(9e15);

function files(db: Reads): readonly ImageCopy[] {
  const rows = db.rows(() =>
    query
      .selectFrom('_image_file as f')
      .leftJoin('images as v', (join) =>
        join.onRef('v.product_id', '=', 'f.product_id').onRef('v.image_key', '=', 'f.image_key'),
      )
      .leftJoin('image as i', (join) =>
        join.onRef('i.product_id', '=', 'f.product_id').onRef('i.image_key', '=', 'f.image_key'),
      )
      .leftJoin('_product as p', 'p.product_id', 'f.product_id')
      .leftJoin('_product_read as a', 'a.product_id', 'f.product_id')
      .select(['f.product_id', 'f.image_key'])
      .select((of) => [
        of.ref('f.file').$notNull().as('file'),
        sql<0 | 1>`${of.ref('v.image_key')} is not null`.as('shown'),
        of
          .fn<Instant>('min', [
            of.fn.coalesce('i.withdrawn_at', of.lit(never)),
            of.fn.coalesce('p.withdrawn_at', of.lit(never)),
            of.fn.coalesce('i.doubted_at', of.lit(never)),
            sql<Instant>`${of.fn.coalesce('a.images_verified_at', of.lit(instant(0)))} + ${sql.lit(imageLimitMs)}`,
          ])
          .as('hidden_at'),
      ])
      .where('f.file', 'is not', null),
  );
  return rows();
}
