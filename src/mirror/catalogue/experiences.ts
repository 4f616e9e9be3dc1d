import { hash } from 'node:crypto';
import type { Instant } from '../../clock.ts';
import type { Experience } from '../../domain/catalogue/experience.ts';
import { type Image, mayShow } from '../../domain/catalogue/image.ts';
import { unsigned } from '../../domain/catalogue/signed-address.ts';
import { slugOf } from '../../domain/catalogue/slug.ts';
import { differing, noProduct } from '../../domain/changes/change.ts';
import { mayReplace } from '../../domain/schedule/record.ts';
import { type Bound, listed, type Reads, type Writes } from '../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../changes/changes.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { type DroppedByWalks, type IsUsable, ListAbsences } from './removals.ts';
import type { SearchTable } from './search.ts';

interface OfExperience {
  readonly experience_id: number;
}

/** Queries about experiences. */
export interface ExperienceReads {
  count(): number;
}

/** A read of the experience list, and the currency that it asked for. */
export interface ExperiencesRead extends FoundBy {
  readonly currency: string;
  readonly stale_at: Instant;
  readonly isUsable: IsUsable<Experience>;
}

/** Experiences and the products that they say belong to them. */
export interface ExperienceTables extends ExperienceReads, DroppedByWalks {
  /** Returns whether any of them changed. */
  store(experiences: readonly Experience[], read: ExperiencesRead): boolean;
}

/** The tables that know of experiences. */
interface Ports {
  readonly search: SearchTable;
  readonly changes: ChangeTable;
}

export function experienceReads(db: Reads): ExperienceReads {
  const count = db.values(() => query.selectFrom('_experience').select((of) => of.fn.countAll<number>().as('all')));
  return { count: () => count.get() ?? 0 };
}

export function experienceTables(db: Writes, ports: Ports): ExperienceTables {
  return { ...experienceReads(db), ...stored(db, ports), ...missing(db, ports) };
}

/** Returns the links of an experience to its products. */
function links(db: Writes) {
  const drop = db.change(({ experience_id }: Bound<OfExperience>) =>
    query.deleteFrom('_product_experience').where('experience_id', '=', experience_id),
  );
  const add = db.change(({ product_id, experience_id }: Bound<Tables['_product_experience']>) =>
    query.insertInto('_product_experience').values({ product_id, experience_id }),
  );
  const of = db.values(({ experience_id }: Bound<OfExperience>) =>
    query.selectFrom('_product_experience').select('product_id').where('experience_id', '=', experience_id),
  );
  return { drop, add, of };
}

/** Reports to the change feed the experiences that differ and the products that show them: one line for each. */
function telling(db: Writes, changes: ChangeTable) {
  const visible = db.values(({ ids }: Bound<{ ids: string }>) =>
    query
      .selectFrom('_product')
      .select('product_id')
      .where('product_id', 'in', listed<number>(ids))
      .where('withdrawn_at', 'is', null)
      .orderBy('product_id'),
  );
  const venueOf = db.values(({ experience_id }: Bound<OfExperience>) =>
    query.selectFrom('_product').select('product_id').where('venue_id', '=', experience_id),
  );
  return (by: FoundBy) => {
    const experience_ids: number[] = [];
    const products = new Map<number, number[]>();
    return {
      /** `named`: it is called otherwise, which is shown at its venue's products too. */
      differs: (experience_id: number, product_ids: Iterable<number>, what: 'named' | 'other') => {
        experience_ids.push(experience_id);
        for (const id of new Set([...product_ids, ...(what === 'named' ? venueOf.all({ experience_id }) : [])]))
          products.set(id, [...(products.get(id) ?? []), experience_id]);
      },
      tell: () => {
        const kind = 'experience_changed';
        if (experience_ids.length > 0) changes.add({ product_id: noProduct, kind, detail: { experience_ids } }, by);
        for (const product_id of visible.all({ ids: JSON.stringify([...products.keys()]) }))
          changes.add({ product_id, kind, detail: { experience_ids: products.get(product_id) } }, by);
      },
    };
  };
}

/** Columns taken from the experience itself, without its document and the instants of its reads. */
const saidColumns = [
  'title', 'path', 'tagline', 'description', 'images', 'url', 'address', 'city_name', 'country_name', 'latitude', 'longitude', 'rating', 'rating_count', 'from_price',
  'currency',
] as const; // biome-ignore format: a list of columns
const experienceColumns = [
  ...saidColumns, 'document', 'document_hash', 'images_verified_at', 'checked_at', 'changed_at', 'stale_at',
] as const; // biome-ignore format: a list of columns

function stored(db: Writes, { search, changes }: Ports): Pick<ExperienceTables, 'store'> {
  const one = db.rows(({ experience_id }: Bound<OfExperience>) =>
    query.selectFrom('_experience').selectAll().where('experience_id', '=', experience_id),
  );
  const put = db.change(upsert('_experience', ['experience_id'], experienceColumns));
  const outdate = db.change(({ experience_id, stale_at }: Bound<OfExperience & { stale_at: Instant }>) =>
    query.updateTable('_experience').set({ stale_at }).where('experience_id', '=', experience_id),
  );
  const link = links(db);
  const told = telling(db, changes);

  function storeOne(
    entry: Experience,
    { currency, sent_at, stale_at, isUsable }: ExperiencesRead,
    { differs }: ReturnType<typeof told>,
  ): boolean {
    const { product_ids, images: read, unread: _, ...experience } = entry;
    const { experience_id, title, document } = experience;
    const row = one.get({ experience_id });
    if (row !== undefined && !mayReplace(row.checked_at, sent_at)) return false;
    if (!isUsable(entry, row !== undefined)) {
      outdate.run({ experience_id, stale_at: sent_at });
      return false;
    }
    const images = read === null ? (row?.images ?? '[]') : storedImages(read);
    const images_verified_at = read === null ? (row?.images_verified_at ?? null) : sent_at;
    const document_hash = hash('sha256', document + unsigned(images), 'base64url');
    const changed = row?.document_hash !== document_hash;
    const changed_at = changed ? sent_at : (row?.changed_at ?? sent_at);
    const next = {
      ...{ ...experience, path: slugOf(title), currency, images, images_verified_at },
      ...{ document_hash, checked_at: sent_at, changed_at, stale_at },
    };
    put.run(next);
    const verified_at = row?.images_verified_at ?? null;
    const wereHidden = read !== null && read.length > 0 && (verified_at === null || !mayShow(verified_at, sent_at));
    // Stored in another currency, or by a version that took less out of the same document; or its images are shown again.
    if (!changed && (wereHidden || differing(withoutSignatures(row), withoutSignatures(next), saidColumns).length > 0))
      differs(experience_id, [], 'other');
    if (!changed) return false;
    const named = row?.title !== title;
    if (named) search.venueChanged(experience_id);
    const before = new Set(link.of.all({ experience_id }));
    const after = new Set(product_ids);
    link.drop.run({ experience_id });
    for (const product_id of product_ids) link.add.run({ product_id, experience_id });
    differs(experience_id, named ? before.union(after) : before.symmetricDifference(after), named ? 'named' : 'other');
    return true;
  }

  return {
    store: (experiences, read) => {
      const feed = told(read);
      const changed = experiences.map((experience) => storeOne(experience, read, feed));
      feed.tell();
      return changed.some(Boolean);
    },
  };
}

/** Another signature of an image address is stored, and is no change. */
function withoutSignatures<Row extends { readonly images: string }>(row: Row): Row {
  return { ...row, images: unsigned(row.images) };
}

/** Returns images as the view `experience_images` takes them apart. */
function storedImages(images: readonly Image[]): string {
  const rows = images.map(
    ({ position, image_key, credit, document }) =>
      `${position},${JSON.stringify([image_key, credit]).slice(1, -1)},${document}`,
  );
  return `[${rows.map((row) => `[${row}]`).join(',')}]`;
}

function missing(db: Writes, { search, changes }: Ports): DroppedByWalks {
  const absences = new ListAbsences(db, 'experiences', () =>
    query.selectFrom('_experience').select('experience_id as id'),
  );
  const { count } = experienceReads(db);
  const drop = db.change(({ experience_id }: Bound<OfExperience>) =>
    query.deleteFrom('_experience').where('experience_id', '=', experience_id),
  );
  const link = links(db);
  const told = telling(db, changes);
  return {
    dropMissing: (walk, by) => {
      const feed = told(by);
      const { missing, ids } = absences.gone(walk, count());
      for (const experience_id of ids) {
        feed.differs(experience_id, link.of.all({ experience_id }), 'named');
        link.drop.run({ experience_id });
        drop.run({ experience_id });
        search.venueChanged(experience_id);
      }
      feed.tell();
      return { missing, dropped: ids.length };
    },
  };
}
