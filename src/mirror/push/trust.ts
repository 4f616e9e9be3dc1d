import type { ChangeType } from '../../domain/push/subscription.ts';
import type { Expectation, Trust } from '../../domain/push/trust.ts';
import { futureToleranceMs } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';
import { workingSql } from './subscriptions.ts';

/** A change that a read found and somebody should announce. */
export interface ExpectedNotice extends Expectation {
  readonly product_id: number;
  readonly change_type: ChangeType;
}

/** A working subscription that should have announced it, and how far it is trusted. */
export interface Announcer extends Trust {
  readonly subscription_id: string;
  readonly trusted: 0 | 1;
  /** Since when it covers the product. */
  readonly covered_since: number;
  /** When it last told of such a change of this product; null: never. */
  readonly received_at: number | null;
}

export type Gap = Tables['gap'];

/** Push, measured: notices, what was expected of them, coverage and gaps. Functions run inside the caller's transaction. */
export interface TrustTable {
  noticed(notice: Tables['notice']): void;
  /** Returns the newest notices about a product, the newest first. */
  noticesOf(product_id: number): Tables['notice'][];
  /** Tells whether anything was announced from then to now. */
  noticedSince(from: number, now: number): boolean;
  /** One that is expected already stays as it is. */
  expect(expected: ExpectedNotice): void;
  /** Returns those whose notifications have had their time. */
  ripe(found_before: number): ExpectedNotice[];
  forget(expected: Pick<ExpectedNotice, 'product_id' | 'change_type'>): void;
  /** Who covers the product and was asked for such changes. */
  announcers(expected: ExpectedNotice): Announcer[];
  trust(subscription_id: string, trust: Trust, trusted: 0 | 1): void;
  /** Subscriptions that are not trusted, and how many products they cover. */
  distrusted(): { readonly subscription_id: string; readonly products: number }[];
  /** Finds which products a working, trusted subscription covers; returns so many at most of which that has changed. */
  cover(now: number, limit: number): { readonly product_id: number; readonly covered: 0 | 1 }[];
  covered(): number;
  /** Notes since when notifications cannot come from a subscription (null: from any), and that they can again. */
  openGap(subscription_id: string | null, from_at: number): void;
  endGap(subscription_id: string | null, to_at: number): void;
  /** Tells whether a gap of this subscription, or of all, touches this time. */
  wasGap(subscription_id: string, span: { readonly from: number; readonly to: number; readonly now: number }): boolean;
  /** Subscriptions that worked once and do not now, since when; and those with an open gap that work again. */
  broken(): { readonly subscription_id: string; readonly since: number }[];
  mended(): string[];
  /** The first gap that is over and not healed. */
  toHeal(): Gap | null;
  /** Returns the next products that a gap concerns. */
  concerned(gap: Gap, limit: number): number[];
  healed(gap_id: number, to_product_id: number, products: number): void;
  /** Returns how many records still wait for the read that a gap asked for. */
  waiting(): number;
  closeGap(gap_id: number, at: number): void;
  gaps(limit: number): Gap[];
}

export function trustTable(db: Database): TrustTable {
  const noticed = db.prepare(
    `INSERT INTO notice (subscription_id, product_id, change_type, received_at) VALUES (@subscription_id, @product_id, @change_type, @received_at)
     ON CONFLICT DO UPDATE SET received_at = excluded.received_at`,
  );
  const noticesOf = db.prepare<[number], Tables['notice']>(
    'SELECT * FROM notice WHERE product_id = ? ORDER BY received_at DESC',
  );
  const noticedSince = db
    .prepare<[number, number], number>('SELECT EXISTS (SELECT 1 FROM notice WHERE received_at BETWEEN ? AND ?)')
    .pluck();
  const expect = db.prepare(
    `INSERT INTO expected_notice (product_id, change_type, since_at, found_at) VALUES (@product_id, @change_type, @since_at, @found_at)
     ON CONFLICT DO UPDATE SET since_at = @since_at, found_at = @found_at WHERE found_at > @found_at + ${futureToleranceMs}`,
  );
  const ripe = db.prepare<[number], ExpectedNotice>('SELECT * FROM expected_notice WHERE found_at <= ? LIMIT 1000');
  const forget = db.prepare<[number, string]>('DELETE FROM expected_notice WHERE product_id = ? AND change_type = ?');
  const announcers = db.prepare<ExpectedNotice, Announcer>(
    `SELECT s.subscription_id, s.announced, s.announceable, s.trusted, c.since_at AS covered_since, n.received_at
     FROM subscription_product c JOIN subscription s USING (subscription_id)
     LEFT JOIN notice n ON n.product_id = c.product_id AND n.change_type = @change_type AND n.subscription_id = s.subscription_id
     WHERE c.product_id = @product_id AND ${workingSql} AND c.since_at IS NOT NULL
       AND EXISTS (SELECT 1 FROM json_each(s.change_types) t WHERE t.value = @change_type)`,
  );
  const trust = db.prepare<[number, number, number, string]>(
    'UPDATE subscription SET announced = ?, announceable = ?, trusted = ? WHERE subscription_id = ?',
  );
  const distrusted = db.prepare<[], { subscription_id: string; products: number }>(
    `SELECT s.subscription_id, (SELECT count(*) FROM subscription_product c WHERE c.subscription_id = s.subscription_id) AS products
     FROM subscription s WHERE s.trusted = 0 AND s.declared_id IS NOT NULL ORDER BY s.subscription_id`,
  );
  const isCovered = `EXISTS (SELECT 1 FROM subscription_product c JOIN subscription s USING (subscription_id)
    WHERE c.product_id = product.product_id AND ${workingSql} AND s.trusted = 1
      AND EXISTS (SELECT 1 FROM json_each(s.change_types) t WHERE t.value = 'product_details_update'))`;
  const cover = db.prepare<[number], { product_id: number; covered: 0 | 1 }>(
    `UPDATE product SET covered = NOT covered WHERE product_id IN
       (SELECT product_id FROM product WHERE withdrawn_at IS NULL AND covered <> ${isCovered} LIMIT ?) RETURNING product_id, covered`,
  );
  const noteSince = db.prepare<{ now: number }>(
    `UPDATE subscription_product SET since_at = @now WHERE since_at IS NULL OR since_at > @now + ${futureToleranceMs}`,
  );
  const covered = db
    .prepare<[], number>('SELECT count(*) FROM product WHERE covered = 1 AND withdrawn_at IS NULL')
    .pluck();
  const openGap = db.prepare<{ subscription_id: string | null; from_at: number }>(
    `INSERT INTO gap (subscription_id, from_at)
     SELECT @subscription_id, @from_at WHERE NOT EXISTS (SELECT 1 FROM gap WHERE subscription_id IS @subscription_id AND to_at IS NULL)`,
  );
  const endGap = db.prepare<{ subscription_id: string | null; to_at: number }>(
    'UPDATE gap SET to_at = max(@to_at, from_at) WHERE subscription_id IS @subscription_id AND to_at IS NULL',
  );
  // An end that has not come yet was noted by a clock that was wrong: how long it lasted, nobody knows.
  const wasGap = db
    .prepare<{ subscription_id: string; from: number; to: number; latest: number }, number>(
      `SELECT EXISTS (SELECT 1 FROM gap WHERE (subscription_id IS NULL OR subscription_id = @subscription_id)
         AND from_at <= @to AND CASE WHEN to_at > @latest THEN from_at ELSE COALESCE(to_at, @to) END >= @from)`,
    )
    .pluck();
  const broken = db.prepare<[], { subscription_id: string; since: number }>(
    // Where it is the address that is wrong, the status has been the same all along.
    `SELECT s.subscription_id, COALESCE(CASE WHEN s.address IS 'ours' OR s.status = 'missing' THEN s.status_at END, s.checked_at, 0) AS since FROM subscription s
     WHERE s.declared_id IS NOT NULL AND s.put_at IS NOT NULL AND s.status IS NOT NULL AND NOT ${workingSql}`,
  );
  const mended = db
    .prepare<[], string>(
      `SELECT s.subscription_id FROM subscription s JOIN gap g ON g.subscription_id = s.subscription_id AND g.to_at IS NULL WHERE ${workingSql}`,
    )
    .pluck();
  const toHeal = db.prepare<[], Gap>(
    'SELECT * FROM gap WHERE closed_at IS NULL AND to_at IS NOT NULL ORDER BY gap_id LIMIT 1',
  );
  const concerned = db
    .prepare<{ subscription_id: string | null; after: number; limit: number }, number>(
      `SELECT DISTINCT c.product_id FROM subscription_product c JOIN product p USING (product_id)
       WHERE p.withdrawn_at IS NULL AND c.product_id > @after AND (@subscription_id IS NULL OR c.subscription_id = @subscription_id)
       ORDER BY c.product_id LIMIT @limit`,
    )
    .pluck();
  const healed = db.prepare<[number, number, number]>(
    'UPDATE gap SET healed_to = ?, products = products + ? WHERE gap_id = ?',
  );
  const waiting = db.prepare<[], number>(`SELECT count(*) FROM record WHERE due_reason = 'gap-healing'`).pluck();
  const close = db.prepare<[number, number]>('UPDATE gap SET closed_at = ? WHERE gap_id = ?');
  const gaps = db.prepare<[number], Gap>('SELECT * FROM gap ORDER BY gap_id DESC LIMIT ?');
  return {
    noticesOf: (product_id) => noticesOf.all(product_id),
    noticed: (notice) => {
      noticed.run(notice);
    },
    noticedSince: (from, now) => noticedSince.get(from, now) === 1,
    expect: (expected) => {
      expect.run(expected);
    },
    ripe: (found_before) => ripe.all(found_before),
    forget: ({ product_id, change_type }) => {
      forget.run(product_id, change_type);
    },
    announcers: (expected) => announcers.all(expected),
    trust: (subscription_id, { announced, announceable }, trusted) => {
      trust.run(announced, announceable, trusted, subscription_id);
    },
    distrusted: () => distrusted.all(),
    cover: (now, limit) => {
      noteSince.run({ now });
      return cover.all(limit);
    },
    covered: () => covered.get() ?? 0,
    openGap: (subscription_id, from_at) => {
      openGap.run({ subscription_id, from_at });
    },
    endGap: (subscription_id, to_at) => {
      endGap.run({ subscription_id, to_at });
    },
    wasGap: (subscription_id, { from, to, now }) =>
      wasGap.get({ subscription_id, from, to, latest: now + futureToleranceMs }) === 1,
    broken: () => broken.all(),
    mended: () => mended.all(),
    toHeal: () => toHeal.get() ?? null,
    concerned: ({ subscription_id, healed_to }, limit) => concerned.all({ subscription_id, after: healed_to, limit }),
    healed: (gap_id, to_product_id, products) => {
      healed.run(to_product_id, products, gap_id);
    },
    waiting: () => waiting.get() ?? 0,
    closeGap: (gap_id, at) => {
      close.run(at, gap_id);
    },
    gaps: (limit) => gaps.all(limit),
  };
}
