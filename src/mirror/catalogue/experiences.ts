import { hash } from 'node:crypto';
import type { Experience } from '../../domain/catalogue/experience.ts';
import { listsApartMs } from '../../domain/sale/absence.ts';
import { futureToleranceMs, mayReplace } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { prepare, namedUpsert as upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { searchTable } from './search.ts';

type Row = Tables['experience'];

/** Experiences and the products that they say belong to them. Functions run inside the caller's transaction. */
export interface ExperienceTables {
  store(experience: Experience, read: { sent_at: number; now: number; stale_at: number }): boolean;
  /** After a complete walk: who was met is not missing any more, who was not is missing once more. Returns how many are. */
  noteMissing(walk: { edition: string; started_at: number }): number;
  /** Drops those that so many complete walks in a row lack, with their links; returns how many. */
  dropMissing(walks: number): number;
  count(): number;
}

export function experienceTables(db: Database): ExperienceTables {
  const one = db.prepare<[number], Row>('SELECT * FROM experience WHERE experience_id = ?');
  const put = prepare<Row>(
    db,
    upsert(
      'experience',
      ['experience_id'],
      ['title', 'document', 'document_hash', 'checked_at', 'changed_at', 'stale_at'],
    ),
  );
  const unlink = db.prepare<[number]>('DELETE FROM product_experience WHERE experience_id = ?');
  const link = db.prepare<[number, number]>('INSERT INTO product_experience (product_id, experience_id) VALUES (?, ?)');
  const shown = `SELECT id FROM walk_row WHERE resource = 'experiences' AND edition = @edition`;
  const met = db.prepare<{ edition: string }>(`DELETE FROM experience_absence WHERE experience_id IN (${shown})`);
  // An instant that has not come yet counts as absent.
  const counted = `(@started_at - last_missing_at >= ${listsApartMs} OR last_missing_at > @started_at + ${futureToleranceMs})`;
  const missed = db.prepare<{ edition: string; started_at: number }>(
    `INSERT INTO experience_absence (experience_id, missing_walks, last_missing_at)
     SELECT experience_id, 1, @started_at FROM experience WHERE experience_id NOT IN (${shown})
     ON CONFLICT DO UPDATE SET missing_walks = missing_walks + ${counted},
       last_missing_at = CASE WHEN ${counted} THEN @started_at ELSE last_missing_at END`,
  );
  const missing = db
    .prepare<[number], number>('SELECT experience_id FROM experience_absence WHERE missing_walks >= ?')
    .pluck();
  const forget = db.prepare<[number]>('DELETE FROM experience_absence WHERE experience_id = ?');
  const count = db.prepare<[], number>('SELECT count(*) FROM experience').pluck();
  const drop = db.prepare<[number]>('DELETE FROM experience WHERE experience_id = ?');
  const search = searchTable(db);

  return {
    store: ({ experience_id, title, document, product_ids }, { sent_at, now, stale_at }) => {
      const row = one.get(experience_id);
      if (row !== undefined && !mayReplace(row.checked_at, sent_at, now)) return false;
      const document_hash = hash('sha256', document, 'base64url');
      const changed = row?.document_hash !== document_hash;
      const changed_at = changed ? sent_at : (row?.changed_at ?? sent_at);
      put.run({ experience_id, title, document, document_hash, checked_at: sent_at, changed_at, stale_at });
      if (!changed) return false;
      if (row?.title !== title) search.venueChanged(experience_id);
      unlink.run(experience_id);
      for (const product_id of product_ids) link.run(product_id, experience_id);
      return true;
    },
    count: () => count.get() ?? 0,
    noteMissing: ({ edition, started_at }) => {
      met.run({ edition });
      missed.run({ edition, started_at });
      return missing.all(1).length;
    },
    dropMissing: (walks) => {
      const gone = missing.all(walks);
      for (const experience_id of gone) {
        forget.run(experience_id);
        unlink.run(experience_id);
        drop.run(experience_id);
        search.venueChanged(experience_id);
      }
      return gone.length;
    },
  };
}
