import { hash } from 'node:crypto';
import type { Experience } from '../../domain/catalogue/experience.ts';
import { mayReplace } from '../../domain/schedule/record.ts';
import { type Bound, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query, upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import type { SearchTable } from './search.ts';
import { countsBeside, metBy } from './walked.ts';

interface OfExperience {
  readonly experience_id: number;
}

/** What is asked about them. */
export interface ExperienceReads {
  count(): number;
}

/** Which read of the list brings experiences, and in which currency it was asked for. */
export interface ExperienceRead {
  readonly currency: string;
  readonly sent_at: number;
  readonly now: number;
  readonly stale_at: number;
}

/** Experiences and the products that they say belong to them. */
export interface ExperienceTables extends ExperienceReads {
  store(experience: Experience, read: ExperienceRead): boolean;
  /** After a complete walk: who was met is not missing any more, who was not is missing once more. Returns how many are. */
  noteMissing(walk: { edition: string; started_at: number }): number;
  /** Drops those that so many complete walks in a row lack, with their links; returns how many. */
  dropMissing(walks: number): number;
}

export function experienceReads(db: Reads): ExperienceReads {
  const count = db.values(() => query.selectFrom('experience').select((of) => of.fn.countAll<number>().as('all')));
  return { count: () => count.get() ?? 0 };
}

export function experienceTables(db: Writes, search: SearchTable): ExperienceTables {
  return { ...experienceReads(db), ...stored(db, search), ...missing(db, search) };
}

/** Returns the links of an experience to its products. */
function links(db: Writes) {
  const drop = db.change(({ experience_id }: Bound<OfExperience>) =>
    query.deleteFrom('product_experience').where('experience_id', '=', experience_id),
  );
  const add = db.change(({ product_id, experience_id }: Bound<Tables['product_experience']>) =>
    query.insertInto('product_experience').values({ product_id, experience_id }),
  );
  return { drop, add };
}

const experienceColumns = [
  'title', 'tagline', 'url', 'address', 'city_name', 'country_name', 'latitude', 'longitude', 'rating', 'rating_count', 'from_price',
  'currency', 'document', 'document_hash', 'checked_at', 'changed_at', 'stale_at',
] as const; // biome-ignore format: a list of columns

function stored(db: Writes, search: SearchTable): Pick<ExperienceTables, 'store'> {
  const one = db.rows(({ experience_id }: Bound<OfExperience>) =>
    query.selectFrom('experience').selectAll().where('experience_id', '=', experience_id),
  );
  const put = db.change(upsert('experience', ['experience_id'], experienceColumns));
  const link = links(db);
  return {
    store: ({ product_ids, ...experience }, { currency, sent_at, now, stale_at }) => {
      const { experience_id, title, document } = experience;
      const row = one.get({ experience_id });
      if (row !== undefined && !mayReplace(row.checked_at, sent_at, now)) return false;
      const document_hash = hash('sha256', document, 'base64url');
      const changed = row?.document_hash !== document_hash;
      const changed_at = changed ? sent_at : (row?.changed_at ?? sent_at);
      put.run({ ...experience, currency, document_hash, checked_at: sent_at, changed_at, stale_at });
      if (!changed) return false;
      if (row?.title !== title) search.venueChanged(experience_id);
      link.drop.run({ experience_id });
      for (const product_id of product_ids) link.add.run({ product_id, experience_id });
      return true;
    },
  };
}

type Walk = Bound<{ edition: string; started_at: number }>;

function missing(db: Writes, search: SearchTable): Pick<ExperienceTables, 'noteMissing' | 'dropMissing'> {
  const found = db.change(({ edition }: Bound<{ edition: string }>) =>
    query.deleteFrom('experience_absence').where('experience_id', 'in', metBy('experiences', edition)),
  );
  const missed = db.change(({ edition, started_at }: Walk) =>
    query
      .insertInto('experience_absence')
      .columns(['experience_id', 'missing_walks', 'last_missing_at'])
      .expression(
        query
          .selectFrom('experience')
          .select(['experience_id', sql.lit(1).as('missing_walks'), started_at.as('last_missing_at')])
          .where('experience_id', 'not in', metBy('experiences', edition)),
      )
      .onConflict((taken) =>
        taken.doUpdateSet((of) => {
          const last = of.ref('experience_absence.last_missing_at');
          return {
            missing_walks: of('missing_walks', '+', countsBeside(last, started_at)),
            last_missing_at: sql`case when ${countsBeside(last, started_at)} then ${started_at} else ${last} end`,
          };
        }),
      ),
  );
  const missingFor = db.values(({ walks }: Bound<{ walks: number }>) =>
    query.selectFrom('experience_absence').select('experience_id').where('missing_walks', '>=', walks),
  );
  const forget = db.change(({ experience_id }: Bound<OfExperience>) =>
    query.deleteFrom('experience_absence').where('experience_id', '=', experience_id),
  );
  const drop = db.change(({ experience_id }: Bound<OfExperience>) =>
    query.deleteFrom('experience').where('experience_id', '=', experience_id),
  );
  const link = links(db);
  return {
    noteMissing: ({ edition, started_at }) => {
      found.run({ edition });
      missed.run({ edition, started_at });
      return missingFor.all({ walks: 1 }).length;
    },
    dropMissing: (walks) => {
      const gone = missingFor.all({ walks });
      for (const experience_id of gone) {
        forget.run({ experience_id });
        link.drop.run({ experience_id });
        drop.run({ experience_id });
        search.venueChanged(experience_id);
      }
      return gone.length;
    },
  };
}
