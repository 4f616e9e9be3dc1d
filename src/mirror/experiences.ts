import { hash } from 'node:crypto';
import type { Experience } from '../domain/experience.ts';
import { mayReplace } from '../domain/record.ts';
import type { Database } from '../sqlite/database-file.ts';
import { prepare, upsert } from './sql.ts';
import type { Tables } from './tables.ts';

type Row = Tables['experience'];

/** Experiences and the products that they say belong to them. Functions run inside the caller's transaction. */
export interface ExperienceTables {
  store(experience: Experience, read: { sent_at: number; now: number; stale_at: number }): boolean;
  /** After a complete walk that began at `started_at`: an experience it did not meet is gone, with its links. */
  dropUnseen(started_at: number): number;
  count(): number;
  /** How many were not met since an instant. */
  unseen(started_at: number): number;
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
  const unseen = db.prepare<[number], number>('SELECT experience_id FROM experience WHERE checked_at < ?').pluck();
  const count = db.prepare<[], number>('SELECT count(*) FROM experience').pluck();
  const drop = db.prepare<[number]>('DELETE FROM experience WHERE experience_id = ?');

  return {
    store: ({ experience_id, title, document, product_ids }, { sent_at, now, stale_at }) => {
      const row = one.get(experience_id);
      if (row !== undefined && !mayReplace(row.checked_at, sent_at, now)) return false;
      const document_hash = hash('sha256', document, 'base64url');
      const changed = row?.document_hash !== document_hash;
      const changed_at = changed ? sent_at : (row?.changed_at ?? sent_at);
      put.run({ experience_id, title, document, document_hash, checked_at: sent_at, changed_at, stale_at });
      if (!changed) return false;
      unlink.run(experience_id);
      for (const product_id of product_ids) link.run(product_id, experience_id);
      return true;
    },
    count: () => count.get() ?? 0,
    unseen: (started_at) => unseen.all(started_at).length,
    dropUnseen: (started_at) => {
      const gone = unseen.all(started_at);
      for (const experience_id of gone) {
        unlink.run(experience_id);
        drop.run(experience_id);
      }
      return gone.length;
    },
  };
}
