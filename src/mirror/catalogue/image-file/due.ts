import type { Instant } from '../../../clock.ts';
import type { Bound, Reads } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { ImageFile } from './image-file.ts';

/** Queue of files that are due. */
export interface DueFiles {
  /** Returns the files due at `now`, those of the newest products last. With `kept`, only those that have a file. */
  due(now: Instant, which: 'all' | 'kept', limit: number): ImageFile[];
  /** Products with a file that is due and was never fetched. */
  waitingProducts(now: Instant): number;
}

export function dueFiles(db: Reads): DueFiles {
  const dueAt = ({ now, limit }: Bound<{ now: Instant; limit: number }>) =>
    query
      .selectFrom('_image_file as f')
      .innerJoin('_product as p', 'p.product_id', 'f.product_id')
      .selectAll('f')
      .where('f.due_at', '<=', now)
      .orderBy('p.first_seen_at')
      .orderBy('f.product_id')
      .orderBy('f.image_key')
      .limit(limit);
  const due = {
    all: db.rows(dueAt),
    kept: db.rows((bound: Parameters<typeof dueAt>[0]) => dueAt(bound).where('f.file', 'is not', null)),
  };
  const waiting = db.values(({ now }: Bound<{ now: Instant }>) =>
    query
      .selectFrom('_image_file')
      .select((of) => of.fn.count<number>('product_id').distinct().as('products'))
      .where('file', 'is', null)
      .where('due_at', '<=', now)
      .where('failure_kind', 'is', null),
  );
  return {
    due: (now, which, limit) => due[which].all({ now, limit }),
    waitingProducts: (now) => waiting.get({ now }) ?? 0,
  };
}
