import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

export type Alarm = Tables['alarm'];

/** How many products a condition is about, and when that was seen. */
type Met = Pick<Alarm, 'kind' | 'products'> & { readonly at: number };

/** Conditions that a person should know of, as long as they last. Every function but `all` runs inside the caller's transaction. */
export interface AlarmTable {
  /** Notes that a condition holds; `new`: it did not until now. */
  raise(alarm: Met): 'new' | 'known';
  /** The same where it is met product by product: what was met from `started_at` on is counted together. */
  add(alarm: Met & { readonly started_at: number }): 'new' | 'known';
  /** A condition holds no longer. */
  clear(kind: Alarm['kind']): 'ended' | 'none';
  /** Ends the alarm about images where a walk that began at `started_at` has met images again, and no page without any. */
  clearImages(started_at: number, now: number): void;
  /** By kind. */
  all(): Alarm[];
}

export function alarmTable(db: Database): AlarmTable {
  const one = db.prepare<[string], Alarm>('SELECT * FROM alarm WHERE kind = ?');
  const raise = db.prepare<Met>(
    `INSERT INTO alarm (kind, raised_at, seen_at, products) VALUES (@kind, @at, @at, @products)
     ON CONFLICT DO UPDATE SET seen_at = @at, products = @products`,
  );
  const add = db.prepare<Met & { started_at: number }>(
    `INSERT INTO alarm (kind, raised_at, seen_at, products) VALUES (@kind, @at, @at, @products)
     ON CONFLICT DO UPDATE SET seen_at = @at, products = @products + CASE WHEN seen_at BETWEEN @started_at AND @at THEN products ELSE 0 END`,
  );
  const clear = db.prepare<[string]>('DELETE FROM alarm WHERE kind = ?');
  const clearImages = db.prepare<{ started_at: number; now: number }>(
    `DELETE FROM alarm WHERE kind = 'images-vanished' AND (seen_at < @started_at OR seen_at > @now + ${futureToleranceMs})
       AND EXISTS (SELECT 1 FROM product p WHERE p.images_verified_at BETWEEN @started_at AND @now
         AND EXISTS (SELECT 1 FROM image i WHERE i.product_id = p.product_id AND i.withdrawn_at IS NULL))`,
  );
  const all = db.prepare<[], Alarm>('SELECT * FROM alarm ORDER BY kind');
  const standing = (kind: Alarm['kind']) => (one.get(kind) === undefined ? 'new' : 'known');

  return {
    raise: (met) => {
      const stands = standing(met.kind);
      raise.run(met);
      return stands;
    },
    add: (met) => {
      const stands = standing(met.kind);
      add.run(met);
      return stands;
    },
    clear: (kind) => (clear.run(kind).changes > 0 ? 'ended' : 'none'),
    clearImages: (started_at, now) => {
      clearImages.run({ started_at, now });
    },
    all: () => all.all(),
  };
}
