import type { Closure } from '../../domain/push/notification.ts';
import { type ClosureFacts, guardSpanMs } from '../../domain/sale/closure.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

/** A closure that is in force, with its words. */
export type StoredClosure = ClosureFacts &
  Closure & { readonly closure_id: number; readonly product_id: number; readonly delivery_id: number };

/** How many closures no read has decided yet. */
export interface ClosureCounts {
  /** In effect: those products are off sale. */
  readonly unconfirmed: number;
  /** Not in effect: too many came at once. */
  readonly held: number;
}

/** Closures that notifications told of. Every function runs inside the caller's transaction. */
export interface ClosureTable {
  /** The one that is in force; null: none is. */
  inForce(product_id: number): StoredClosure | null;
  /** Begins one, or says the newest words of the one in force, which keeps its alternative where none is named now. `applied_at` null: it waits for its read. */
  put(
    closure: Pick<StoredClosure, 'product_id' | 'delivery_id' | 'notified_at' | 'applied_at' | 'available_at'> &
      Closure,
  ): void;
  /** A read said available; said disabled; or it is over. */
  available(closure_id: number, at: number): void;
  confirmed(closure_id: number, at: number): void;
  ended(closure_id: number, at: number): void;
  /** Takes effect: the product is off sale until reads decide. */
  apply(product_id: number): void;
  /** How many took effect within the guard's span and were not confirmed, with older ones that still wait. */
  unconfirmed(now: number): number;
  counts(): ClosureCounts;
  /** Whether a walk that began at `started_at` left any undecided that another one would decide. */
  askAgain(started_at: number, now: number): boolean;
  /** The last that ended, or were confirmed, the newest first. */
  decided(limit: number): Pick<Tables['closure'], 'confirmed_at' | 'ended_at'>[];
  ofProduct(product_id: number): Tables['closure'][];
  /** Forgets those that were over before an instant; one in force stays, however old. */
  prune(before: number): void;
}

export function closureTable(db: Database): ClosureTable {
  const inForce = db.prepare<[number], StoredClosure>(
    'SELECT * FROM closure WHERE product_id = ? AND ended_at IS NULL',
  );
  const put = db.prepare(
    `INSERT INTO closure (product_id, delivery_id, notified_at, applied_at, available_at, reason, expected_reopening, alternative_product_id)
     VALUES (@product_id, @delivery_id, @notified_at, @applied_at, @available_at, @reason, @expected_reopening, @alternative_product_id)
     ON CONFLICT (product_id) WHERE ended_at IS NULL DO UPDATE SET delivery_id = @delivery_id, notified_at = @notified_at,
       applied_at = COALESCE(applied_at, @applied_at), available_at = @available_at, confirmed_at = NULL,
       reason = @reason, expected_reopening = @expected_reopening,
       alternative_product_id = COALESCE(@alternative_product_id, alternative_product_id)`,
  );
  const set = (column: 'available_at' | 'confirmed_at' | 'ended_at') =>
    db.prepare<[number, number]>(`UPDATE closure SET ${column} = ? WHERE closure_id = ?`);
  const [available, confirmed, ended] = [set('available_at'), set('confirmed_at'), set('ended_at')];
  const apply = db.prepare<{ product_id: number }>(
    `UPDATE product SET closure_unconfirmed = 1, disabled_source = CASE sale_status WHEN 'disabled' THEN disabled_source ELSE 'notification' END,
       disabled_reason = c.reason, expected_reopening = c.expected_reopening, alternative_product_id = c.alternative_product_id
     FROM (SELECT * FROM closure WHERE product_id = @product_id AND ended_at IS NULL) c
     WHERE product.product_id = @product_id`,
  );
  const unconfirmed = db
    .prepare<{ since: number; latest: number }, number>(
      `SELECT (SELECT count(*) FROM closure WHERE applied_at BETWEEN @since AND @latest AND confirmed_at IS NULL)
        + (SELECT count(*) FROM closure WHERE (applied_at < @since OR applied_at > @latest) AND confirmed_at IS NULL AND ended_at IS NULL)`,
    )
    .pluck();
  const counts = db.prepare<[], ClosureCounts>(
    `SELECT COALESCE(sum(applied_at IS NOT NULL), 0) AS unconfirmed, COALESCE(sum(applied_at IS NULL), 0) AS held
     FROM closure WHERE ended_at IS NULL AND confirmed_at IS NULL`,
  );
  // One that the walk did not meet at all, the next one will not meet either.
  const askAgain = db
    .prepare<{ started_at: number; latest: number }, number>(
      `SELECT EXISTS (SELECT 1 FROM closure WHERE ended_at IS NULL AND confirmed_at IS NULL
         AND (notified_at BETWEEN @started_at AND @latest OR available_at BETWEEN @started_at AND @latest))`,
    )
    .pluck();
  const decided = db.prepare<[number], Pick<Tables['closure'], 'confirmed_at' | 'ended_at'>>(
    `SELECT confirmed_at, ended_at FROM closure WHERE COALESCE(confirmed_at, ended_at) IS NOT NULL
     ORDER BY COALESCE(confirmed_at, ended_at) DESC LIMIT ?`,
  );
  const ofProduct = db.prepare<[number], Tables['closure']>(
    'SELECT * FROM closure WHERE product_id = ? ORDER BY closure_id DESC LIMIT 20',
  );
  const prune = db.prepare<[number]>('DELETE FROM closure WHERE ended_at < ?');
  return {
    inForce: (product_id) => inForce.get(product_id) ?? null,
    put: (closure) => {
      put.run(closure);
    },
    available: (closure_id, at) => {
      available.run(at, closure_id);
    },
    confirmed: (closure_id, at) => {
      confirmed.run(at, closure_id);
    },
    ended: (closure_id, at) => {
      ended.run(at, closure_id);
    },
    apply: (product_id) => {
      apply.run({ product_id });
    },
    unconfirmed: (now) => unconfirmed.get({ since: now - guardSpanMs, latest: now + futureToleranceMs }) ?? 0,
    counts: () => counts.get() ?? { unconfirmed: 0, held: 0 },
    askAgain: (started_at, now) => askAgain.get({ started_at, latest: now + futureToleranceMs }) === 1,
    decided: (limit) => decided.all(limit),
    ofProduct: (product_id) => ofProduct.all(product_id),
    prune: (before) => {
      prune.run(before);
    },
  };
}
