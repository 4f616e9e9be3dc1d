import { hash } from 'node:crypto';
import { differing, noProduct } from '../feed/change.rules.ts';
import type { ChangeTable, FoundBy } from '../feed/changes.store.ts';
import type { Instant } from '../kernel/clock.ts';
import { type Bound, listed, type Reads, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, dropBy, insertOf, query, setBy, upsert } from '../mirror/sql/sql.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import type { SearchTable } from '../storefront/search/search.store.ts';
import type { Experience } from './experience.rules.ts';
import { type Image, mayShow } from './image.rules.ts';
import { type CompleteWalk, type DroppedByWalks, type IsUsable, ListAbsences } from './removals.store.ts';
import { unsigned } from './signed-address.rules.ts';
import { slugOf } from './slug.rules.ts';

/** A read of the experience list, and the currency that it asked for. */
export interface ExperiencesRead extends FoundBy {
  readonly currency: string;
  readonly stale_at: Instant;
  readonly isUsable: IsUsable<Experience>;
}

/** Columns taken from the experience itself, without its document and the instants of its reads. */
const saidColumns = [
  'title', 'path', 'tagline', 'description', 'images', 'url', 'address', 'city_name', 'country_name', 'latitude', 'longitude', 'rating', 'rating_count', 'from_price',
  'currency',
] as const; // biome-ignore format: a list of columns
const experienceColumns = [
  ...saidColumns, 'document', 'document_hash', 'images_verified_at', 'checked_at', 'changed_at', 'stale_at',
] as const; // biome-ignore format: a list of columns

/** Queries about experiences. */
export class ExperienceReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #count = this.db.value(() =>
    query.selectFrom('_experience').select((of) => of.fn.countAll<number>().as('all')),
  );

  count(): number {
    return this.#count() ?? 0;
  }
}

/** Experiences and the products that they say belong to them. */
export class ExperienceTables extends ExperienceReads<Writes> implements DroppedByWalks {
  readonly #one = this.db.row(({ experience_id }: Bound<{ experience_id: number }>) =>
    query.selectFrom('_experience').selectAll().where('experience_id', '=', experience_id),
  );
  readonly #put = this.db.change(upsert('_experience', ['experience_id'], experienceColumns));
  readonly #outdate = this.db.change(setBy('_experience', ['experience_id'], ['stale_at']));
  readonly #drop = this.db.change(dropBy('_experience', ['experience_id']));
  readonly #linked = this.db.values(byKey('_product_experience', ['experience_id'], ['product_id']));
  readonly #link = this.db.change(insertOf('_product_experience', ['product_id', 'experience_id']));
  readonly #unlink = this.db.change(dropBy('_product_experience', ['experience_id']));
  readonly #atVenue = this.db.values(byKey('_product', ['venue_id'], ['product_id']));
  readonly #visible = this.db.values(({ ids }: Bound<{ ids: string }>) =>
    query
      .selectFrom('_product')
      .select('product_id')
      .where('product_id', 'in', listed<number>(ids))
      .where('withdrawn_at', 'is', null)
      .orderBy('product_id'),
  );
  readonly #absences = new ListAbsences(this.db, 'experiences', () =>
    query.selectFrom('_experience').select('experience_id as id'),
  );
  readonly #changes: ChangeTable;
  readonly #search: SearchTable;

  constructor(db: Writes, changes: ChangeTable, search: SearchTable) {
    super(db);
    this.#changes = changes;
    this.#search = search;
  }

  /** Returns whether any of them changed. */
  store(experiences: readonly Experience[], read: ExperiencesRead): boolean {
    const found = new Differing();
    const changed = experiences.map((experience) => this.#store(experience, read, found));
    this.#tell(found, read);
    return changed.some(Boolean);
  }

  #store(entry: Experience, { currency, sent_at, stale_at, isUsable }: ExperiencesRead, found: Differing): boolean {
    const { product_ids, images: read, unread: _, ...experience } = entry;
    const { experience_id, title, document } = experience;
    const row = this.#one({ experience_id });
    if (row !== null && !mayReplace(row.checked_at, sent_at)) return false;
    if (!isUsable(entry, row !== null)) {
      this.#outdate({ experience_id, stale_at: sent_at });
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
    this.#put(next);
    const verified_at = row?.images_verified_at ?? null;
    const wereHidden = read !== null && read.length > 0 && (verified_at === null || !mayShow(verified_at, sent_at));
    // Stored in another currency, or by a version that took less out of the same document; or its images are shown again.
    if (!changed && (wereHidden || differing(withoutSignatures(row), withoutSignatures(next), saidColumns).length > 0))
      found.add(experience_id, []);
    if (!changed) return false;
    const named = row?.title !== title;
    if (named) this.#search.venueChanged(experience_id);
    const before = new Set(this.#linked({ experience_id }));
    this.#unlink({ experience_id });
    for (const product_id of product_ids) this.#link({ product_id, experience_id });
    if (named) found.add(experience_id, [...before, ...this.#naming(experience_id)]);
    else found.add(experience_id, before.symmetricDifference(new Set(product_ids)));
    return true;
  }

  dropMissing(walk: CompleteWalk, by: FoundBy) {
    const found = new Differing();
    const { missing, ids } = this.#absences.gone(walk, this.count());
    for (const experience_id of ids) {
      found.add(experience_id, this.#naming(experience_id));
      this.#unlink({ experience_id });
      this.#drop({ experience_id });
      this.#search.venueChanged(experience_id);
    }
    this.#tell(found, by);
    return { missing, dropped: ids.length };
  }

  /** Returns the products that show the title of an experience: its own, and those whose venue it is. */
  #naming(experience_id: number): number[] {
    return [...this.#linked({ experience_id }), ...this.#atVenue({ venue_id: experience_id })];
  }

  /** Reports to the change feed the experiences that differ and the products that show them: one line for each. */
  #tell({ experience_ids, products }: Differing, by: FoundBy): void {
    const kind = 'experience_changed';
    if (experience_ids.length > 0) this.#changes.add({ product_id: noProduct, kind, detail: { experience_ids } }, by);
    for (const product_id of this.#visible({ ids: JSON.stringify([...products.keys()]) }))
      this.#changes.add({ product_id, kind, detail: { experience_ids: products.get(product_id) } }, by);
  }
}

/** Experiences that differ, and the products that show them. */
class Differing {
  readonly experience_ids: number[] = [];
  readonly products = new Map<number, number[]>();

  add(experience_id: number, product_ids: Iterable<number>): void {
    this.experience_ids.push(experience_id);
    for (const id of new Set(product_ids)) this.products.set(id, [...(this.products.get(id) ?? []), experience_id]);
  }
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
