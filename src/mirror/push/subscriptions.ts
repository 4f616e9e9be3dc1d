import type { AttemptFailure } from '../../domain/push/attempt-failure.ts';
import type { AddressOwner } from '../../domain/push/callback-epoch.ts';
import type { SubscriptionType, WantedSubscription } from '../../domain/push/subscription.ts';
import type { Part } from '../../domain/push/subscription-parts.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { Tables } from '../sql/tables.ts';

type Row = Tables['subscription'];

/** A subscription as it is stored. */
export interface StoredSubscription
  extends Omit<Row, 'change_types' | 'entity_ids' | 'differences' | 'announced' | 'announceable'> {
  readonly change_types: readonly string[] | null;
  readonly entity_ids: readonly number[] | null;
  readonly differences: readonly string[];
  /** Null for products_i_sell: the service keeps the list. */
  readonly covered_products: number | null;
  /** From 0 to 1; null: nothing was announceable yet. */
  readonly trust: number | null;
}

/** What a read or a PUT has shown; what is null keeps what was known. */
export interface SubscriptionFacts {
  readonly status: string;
  readonly type: string | null;
  readonly change_types: readonly string[] | null;
  readonly entity_ids: readonly number[] | null;
  readonly address: AddressOwner | null;
  readonly epoch: number | null;
  readonly at: number;
}

/** Why an attempt did not work: what is decided by, and the same for people. */
export interface FailedAttempt {
  readonly kind: AttemptFailure;
  readonly message: string;
}

/** Which mirrored products or experiences a declaration means; null: it is not narrowed so. */
export interface EntityFilter {
  readonly categories: readonly string[] | null;
  readonly city_ids: readonly number[] | null;
  readonly country_ids: readonly number[] | null;
}

export interface UncoveredProduct {
  readonly product_id: number;
  readonly title: string | null;
}

/** Subscriptions as the service is known to have them. Every function runs inside the caller's transaction. */
export interface SubscriptionTable {
  /** Those that are wanted have a row, and no other one counts as declared. Returns the ids of rows that were declared until now. */
  declare(wanted: readonly WantedSubscription[]): string[];
  all(): StoredSubscription[];
  find(subscription_id: string): StoredSubscription | null;
  /** Returns what the parts of a declaration are known to hold. */
  parts(declared_id: string): Part[];
  /** Returns every visible product, or every experience with one, that the filter means; in ascending order. */
  mirrored(type: 'product_ids' | 'experience_ids', filter: EntityFilter): number[];
  /** Tells whether the lists that `mirrored` depends on have been walked to their end once. */
  isListed(type: 'product_ids' | 'experience_ids'): boolean;
  learn(subscription_id: string, facts: SubscriptionFacts): void;
  /** The service has none of this id. */
  missing(subscription_id: string, at: number): void;
  /** The master secret is another one: every address that the service calls is void. */
  addressesVoid(): void;
  /** A read that brought nothing, and when the next one may be tried. */
  unread(subscription_id: string, failures: number, not_before: number): void;
  compared(subscription_id: string, differences: readonly string[]): void;
  put(subscription_id: string, put: { at: number; hash: string }): void;
  tookOver(subscription_id: string, at: number): void;
  /** An attempt that did not work, or that has to prove itself (`failure` null). */
  tried(
    subscription_id: string,
    attempt: { at: number; failures: number; failure: FailedAttempt | null; not_before: number | null },
  ): void;
  delivered(last: ReadonlyMap<string, number>): void;
  /** Which mirrored products each covers, from what it is known to hold. Returns how many rows changed. */
  cover(): number;
  /** Returns the working subscriptions that cover a product, and what they announce. */
  covering(product_id: number): { readonly subscription_id: string; readonly change_types: readonly string[] }[];
  /** Returns the mirrored products that one covers, whether it works or not; in ascending order. */
  coveredBy(subscription_id: string): number[];
  /** Products on sale that no working subscription covers. */
  uncovered(limit: number): { readonly count: number; readonly products: readonly UncoveredProduct[] };
}

/** SQL over `subscription s`: it sends, and to us (see `isWorking`). */
export const workingSql = `(s.declared_id IS NOT NULL AND s.status NOT IN ('degraded', 'failed', 'cancelled', 'missing') AND s.address = 'ours')`;

export function subscriptionTable(db: Database): SubscriptionTable {
  const columns = `s.*, v.covered_products, v.trust`;
  type Shown = Row & Pick<StoredSubscription, 'covered_products' | 'trust'>;
  const from = `subscription s LEFT JOIN subscriptions v USING (subscription_id)`;
  const all = db.prepare<[], Shown>(`SELECT ${columns} FROM ${from} ORDER BY s.declared_id IS NULL, s.subscription_id`);
  const one = db.prepare<[string], Shown>(`SELECT ${columns} FROM ${from} WHERE s.subscription_id = ?`);
  const parts = db.prepare<[string], { subscription_id: string; entity_ids: string }>(
    'SELECT subscription_id, entity_ids FROM subscription WHERE declared_id = ? AND entity_ids IS NOT NULL',
  );
  const declare = db.prepare<[string, string, SubscriptionType]>(
    `INSERT INTO subscription (subscription_id, declared_id, type) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET declared_id = excluded.declared_id, type = excluded.type`,
  );
  const undeclare = db
    .prepare<[string], string>(
      `UPDATE subscription SET declared_id = NULL
       WHERE declared_id IS NOT NULL AND subscription_id NOT IN (SELECT value FROM json_each(?)) RETURNING subscription_id`,
    )
    .pluck();
  const within = (column: string, name: string) =>
    `(@${name} IS NULL OR ${column} IN (SELECT value FROM json_each(@${name})))`;
  const visible = `p.withdrawn_at IS NULL AND ${within('p.category', 'categories')} AND ${within('p.city_id', 'city_ids')} AND ${within('p.country_id', 'country_ids')}`;
  type Bound = { categories: string | null; city_ids: string | null; country_ids: string | null };
  const products = db
    .prepare<[Bound], number>(`SELECT p.product_id FROM product p WHERE ${visible} ORDER BY p.product_id`)
    .pluck();
  const experiences = db
    .prepare<[Bound], number>(
      `SELECT DISTINCT x.experience_id FROM product_experiences x JOIN product p USING (product_id)
       WHERE ${visible} ORDER BY x.experience_id`,
    )
    .pluck();
  const walked = db
    .prepare<[string], number>('SELECT count(*) FROM walk WHERE resource = ? AND completed_at IS NOT NULL')
    .pluck();
  const learn = db.prepare(
    `UPDATE subscription SET status_at = CASE WHEN status IS @status THEN status_at ELSE @at END, status = @status,
       held_type = COALESCE(@type, held_type), change_types = COALESCE(@change_types, change_types), entity_ids = COALESCE(@entity_ids, entity_ids),
       epoch = CASE WHEN @address IS NULL THEN epoch ELSE @epoch END, address = COALESCE(@address, address), checked_at = @at, read_failures = 0, read_not_before = NULL
     WHERE subscription_id = @subscription_id`,
  );
  const voidAddresses = db.prepare("UPDATE subscription SET address = 'foreign', epoch = NULL WHERE address = 'ours'");
  const missing = db.prepare(
    `UPDATE subscription SET status_at = CASE WHEN status IS 'missing' THEN status_at ELSE @at END, status = 'missing',
       held_type = NULL, change_types = NULL, address = NULL, epoch = NULL, checked_at = @at,
       read_failures = 0, read_not_before = NULL WHERE subscription_id = @subscription_id`,
  );
  const unread = db.prepare<[number, number, string]>(
    'UPDATE subscription SET read_failures = ?, read_not_before = ? WHERE subscription_id = ?',
  );
  const coveredBy = db
    .prepare<[string], number>(
      'SELECT product_id FROM subscription_product WHERE subscription_id = ? ORDER BY product_id',
    )
    .pluck();
  const compared = db.prepare<[string, string]>('UPDATE subscription SET differences = ? WHERE subscription_id = ?');
  const put = db.prepare<[number, string, string]>(
    'UPDATE subscription SET put_at = ?, put_hash = ? WHERE subscription_id = ?',
  );
  const tookOver = db.prepare<[number, string]>('UPDATE subscription SET wrested_at = ? WHERE subscription_id = ?');
  const tried = db.prepare(
    `UPDATE subscription SET tried_at = @at, failures = @failures, failure = @message, failure_kind = @kind, not_before = @not_before
     WHERE subscription_id = @subscription_id`,
  );
  const delivered = db.prepare<{ subscription_id: string; at: number }>(
    'UPDATE subscription SET last_delivery_at = @at WHERE subscription_id = @subscription_id AND last_delivery_at IS NOT @at',
  );
  const covered = `SELECT s.subscription_id, e.value AS product_id FROM subscription s, json_each(s.entity_ids) e
       WHERE s.held_type = 'product_ids' AND s.declared_id IS NOT NULL AND s.status IS NOT 'missing'
         AND e.value IN (SELECT product_id FROM product WHERE withdrawn_at IS NULL)
     UNION SELECT s.subscription_id, x.product_id FROM subscription s, json_each(s.entity_ids) e
       JOIN product_experiences x ON x.experience_id = e.value
       WHERE s.held_type = 'experience_ids' AND s.declared_id IS NOT NULL AND s.status IS NOT 'missing'`;
  const uncover = db.prepare(
    `DELETE FROM subscription_product WHERE (subscription_id, product_id) NOT IN (${covered})`,
  );
  const cover = db.prepare(`INSERT OR IGNORE INTO subscription_product (subscription_id, product_id) ${covered}`);
  const covering = db.prepare<[number], { subscription_id: string; change_types: string | null }>(
    `SELECT s.subscription_id, s.change_types FROM subscription_product c JOIN subscription s USING (subscription_id)
     WHERE c.product_id = ? AND ${workingSql} ORDER BY s.subscription_id`,
  );
  const bare = `FROM product p WHERE p.sellable = 1 AND NOT EXISTS (
      SELECT 1 FROM subscription_product c JOIN subscription s USING (subscription_id)
      WHERE c.product_id = p.product_id AND ${workingSql})`;
  const countBare = db.prepare<[], number>(`SELECT count(*) ${bare}`).pluck();
  const listBare = db.prepare<[number], UncoveredProduct>(
    `SELECT p.product_id, (SELECT t.title FROM product_text t, mirror m WHERE t.product_id = p.product_id AND t.language = m.language) AS title
     ${bare} ORDER BY p.sold DESC, p.product_id LIMIT ?`,
  );

  return {
    declare: (wanted) => {
      for (const { subscription_id, declared_id, type } of wanted) declare.run(subscription_id, declared_id, type);
      return undeclare.all(JSON.stringify(wanted.map(({ subscription_id }) => subscription_id)));
    },
    all: () => all.all().map(parsed),
    find: (subscription_id) => {
      const row = one.get(subscription_id);
      return row === undefined ? null : parsed(row);
    },
    parts: (declared_id) =>
      parts.all(declared_id).map((row) => ({ ...row, entity_ids: JSON.parse(row.entity_ids) as number[] })),
    mirrored: (type, { categories, city_ids, country_ids }) => {
      const bound = { categories: text(categories), city_ids: text(city_ids), country_ids: text(country_ids) };
      return (type === 'product_ids' ? products : experiences).all(bound);
    },
    isListed: (type) =>
      (walked.get('products') ?? 0) > 0 && (type === 'product_ids' || (walked.get('experiences') ?? 0) > 0),
    learn: (subscription_id, { change_types, entity_ids, ...facts }) => {
      const ascending = entity_ids?.toSorted((a, b) => a - b) ?? null;
      learn.run({ subscription_id, ...facts, change_types: text(change_types), entity_ids: text(ascending) });
    },
    addressesVoid: () => {
      voidAddresses.run();
    },
    missing: (subscription_id, at) => {
      missing.run({ subscription_id, at });
    },
    unread: (subscription_id, failures, not_before) => {
      unread.run(failures, not_before, subscription_id);
    },
    compared: (subscription_id, differences) => {
      compared.run(JSON.stringify(differences), subscription_id);
    },
    put: (subscription_id, { at, hash }) => {
      put.run(at, hash, subscription_id);
    },
    tookOver: (subscription_id, at) => {
      tookOver.run(at, subscription_id);
    },
    tried: (subscription_id, { failure, ...attempt }) => {
      tried.run({ subscription_id, ...attempt, kind: failure?.kind ?? null, message: failure?.message ?? null });
    },
    delivered: (last) => {
      for (const [subscription_id, at] of last) delivered.run({ subscription_id, at });
    },
    cover: () => uncover.run().changes + cover.run().changes,
    covering: (product_id) =>
      covering
        .all(product_id)
        .map((row) => ({ ...row, change_types: JSON.parse(row.change_types ?? '[]') as string[] })),
    coveredBy: (subscription_id) => coveredBy.all(subscription_id),
    uncovered: (limit) => ({ count: countBare.get() ?? 0, products: listBare.all(limit) }),
  };
}

function parsed({
  announced: _,
  announceable: __,
  ...row
}: Row & Pick<StoredSubscription, 'covered_products' | 'trust'>): StoredSubscription {
  return {
    ...row,
    change_types: row.change_types === null ? null : (JSON.parse(row.change_types) as string[]),
    entity_ids: row.entity_ids === null ? null : (JSON.parse(row.entity_ids) as number[]),
    differences: JSON.parse(row.differences) as string[],
  };
}

function text(list: readonly unknown[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}
