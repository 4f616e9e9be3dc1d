import { hash } from 'node:crypto';
import type { Instant } from '../kernel/clock.ts';
import type { Database } from '../kernel/sqlite/database-file.ts';
import { orSyncFailed, SyncFailed } from '../kernel/sqlite/failed-sync.ts';
import type { FileStanding } from '../kernel/sqlite/identity.ts';
import { withinQuota } from '../kernel/sqlite/quota.ts';
import { lostFile } from '../kernel/sqlite/refusals.ts';
import { type Bound, pick, sql, type Writes, writesTo } from '../kernel/sqlite/statements.ts';
import { ByteBudget } from './byte-budget.store.ts';
import { type Delivery, deliveryOf, type Numbered, type Received, stored } from './delivery.ts';
import { DeliveryReads, settledSince } from './delivery-reads.store.ts';
import { type DeliveryState, type InboxTables, query } from './tables.ts';

/** The most that is kept in quarantine. */
export interface QuarantineLimits {
  readonly rows: number;
  readonly bytes: number;
}

/** The most data that is kept. */
export interface DeliveryLimits {
  /** Limits of the quarantine, with a tolerance of 64 deliveries. Above them the oldest are removed. */
  readonly quarantine: QuarantineLimits;
  /** `retention.deliveries_bytes`. */
  readonly bytes: number;
}

export type Settled = Exclude<DeliveryState, 'waiting'>;

const usualLimits: DeliveryLimits = { quarantine: { rows: 10_000, bytes: 64 * 1024 * 1024 }, bytes: 1024 ** 3 };
/** Bytes of bodies that are read and applied together. Memory use is several times a batch, so it must not be large. */
const appliedTogetherBytes = 1 * 1024 * 1024;
/**
 * Bytes of free pages kept for new deliveries, and the number of pages returned at a time, which takes a few
 * milliseconds.
 */
const spareBytes = 16 * 1024 * 1024;
const pagesAtOnce = 256;
/** Deliveries between two checks of the quarantine. Adding up all rows takes a millisecond, too long for each delivery. */
const trimEvery = 64;

const columns = [
  'received_at', 'subscription_id', 'epoch', 'peer', 'content_type', 'length', 'truncated', 'sha256', 'coding', 'body',
] as const; // biome-ignore format: a list of columns
const [, ...copied] = columns;

type Row = InboxTables['delivery'];
type Added = Pick<Row, (typeof columns)[number]>;
type Id = { delivery_id: number };

/**
 * The stored deliveries, in a file that this process writes. Writing methods throw SQLite's errors, after a rollback. After
 * a failed fsync they throw a `SyncFailed`, and nothing is written any more.
 */
export class Deliveries extends DeliveryReads<Writes> {
  readonly #insert = this.db.change((delivery: Bound<Added>) =>
    query.insertInto('delivery').values(pick(delivery, columns)),
  );
  readonly #insertNumbered = this.db.change((delivery: Bound<Added & Id>) =>
    query.insertInto('delivery').values(pick(delivery, ['delivery_id', ...columns])),
  );
  // The last delivery counts, not the latest instant: an instant that a wrong clock set in the future does not stay.
  readonly #noteLast = this.db.change(({ subscription_id, received_at }: Bound<InboxTables['last_delivery']>) =>
    query
      .insertInto('last_delivery')
      .values({ subscription_id, received_at })
      .onConflict((known) => known.column('subscription_id').doUpdateSet({ received_at })),
  );
  readonly #copy = this.db.change(({ since, now }: Bound<{ since: Instant; now: Instant }>) =>
    query
      .insertInto('delivery')
      .columns(['received_at', 'replay_of', ...copied])
      .expression(({ selectFrom }) =>
        selectFrom('delivery')
          .select([now.as('received_at'), 'delivery_id as replay_of', ...copied])
          .where(settledSince(since))
          .where('coding', 'is not', 0)
          .orderBy('delivery_id'),
      ),
  );
  readonly #waiting = this.db.each(({ delivery_id, limit }: Bound<Id & { limit: number }>) =>
    query
      .selectFrom('delivery')
      .selectAll()
      .where('state', '=', 'waiting')
      .where('delivery_id', '>', delivery_id)
      .orderBy('delivery_id')
      .limit(limit),
  );
  readonly #settle = this.db.change(
    ({ delivery_id, state, reason, now }: Bound<Id & { state: Settled; reason: string | null; now: Instant }>) =>
      query
        .updateTable('delivery')
        .set({ state, reason, settled_at: now })
        .where('delivery_id', '=', delivery_id)
        .where('state', '=', 'waiting'),
  );
  readonly #count = {
    applied: this.db.returning(() => countOne('applied')),
    superseded: this.db.returning(() => countOne('superseded')),
    quarantined: this.db.returning(() => countOne('quarantined')),
  };
  // The index decides the speed, and Kysely cannot name one.
  readonly #trim = this.db.change(({ rows, bytes }: Bound<QuarantineLimits>) =>
    query.deleteFrom('delivery').where(
      'delivery_id',
      'in',
      sql<number>`(select delivery_id from (
        select delivery_id, row_number() over newest as row, sum(length(body)) over newest as bytes
        from delivery indexed by delivery_quarantined where state = 'quarantined'
        window newest as (order by delivery_id desc rows unbounded preceding))
      where row > ${rows} or bytes > ${bytes})`,
    ),
  );
  readonly #prune = this.db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('delivery').where('settled_at', '<', before),
  );
  readonly #newest = this.db.value(() =>
    query.selectFrom('sqlite_sequence').select('seq').where('name', '=', 'delivery'),
  );
  readonly #beginNumbers = this.db.change(() =>
    query.insertInto('sqlite_sequence').values({ name: 'delivery', seq: 0 }),
  );
  readonly #skipTo = this.db.change(({ delivery_id }: Bound<Id>) =>
    query.updateTable('sqlite_sequence').set({ seq: delivery_id }).where('name', '=', 'delivery'),
  );
  readonly #noteSkipped = this.db.change(({ numbers }: Bound<{ numbers: number }>) =>
    query.updateTable('inbox').set(({ eb }) => ({ skipped_numbers: eb('skipped_numbers', '+', numbers) })),
  );
  readonly #uncount = this.db.change(({ delivery_id }: Bound<Id>) =>
    query.updateTable('inbox').set(({ eb, selectFrom }) => {
      const less = (state: Settled) =>
        eb(
          state,
          '-',
          selectFrom('delivery')
            .where('delivery_id', '>', delivery_id)
            .where('state', '=', state)
            .where('coding', 'is not', 0)
            .select(({ fn }) => fn.countAll<number>().as('count'))
            .$asScalar()
            .$notNull(),
        );
      return { applied: less('applied'), superseded: less('superseded'), quarantined: less('quarantined') };
    }),
  );
  readonly #unsettle = this.db.change(({ delivery_id }: Bound<Id>) =>
    query
      .updateTable('delivery')
      .set({ state: 'waiting', reason: null, settled_at: null })
      .where('delivery_id', '>', delivery_id)
      .where('state', '<>', 'waiting')
      .where('coding', 'is not', 0),
  );
  readonly #has = this.db.value(({ delivery_id }: Bound<Id>) =>
    query.selectFrom('delivery').select('delivery_id').where('delivery_id', '=', delivery_id),
  );
  readonly #firstGone = this.db.value(({ delivery_id }: Bound<Id>) =>
    query
      .selectFrom('delivery')
      .select(({ fn }) => fn.min('received_at').as('received_at'))
      .where('delivery_id', '>', delivery_id)
      .where('coding', '=', 0),
  );
  readonly #beat = this.db.change(({ now }: Bound<{ now: Instant }>) =>
    query.updateTable('inbox').set({ heartbeat_at: now }),
  );
  readonly #budget = new ByteBudget(this.db);
  readonly #file: Database;
  readonly #limits: DeliveryLimits;
  readonly #standing: () => FileStanding;
  /** The write that the disk has lost; null: none. */
  #broken: SyncFailed | null = null;
  /** The last recorded instant before this start at which deliveries could be received; null: none. */
  readonly last_heartbeat: Instant | null;

  /** `standing` returns whether the file still has its name; a file without a name is lost. */
  constructor(file: Database, given: Partial<DeliveryLimits> = {}, standing: () => FileStanding = () => 'stands') {
    super(writesTo(file));
    this.#file = file;
    this.#limits = { ...usualLimits, ...given };
    this.#standing = standing;
    this.last_heartbeat = this.db.value(() => query.selectFrom('inbox').select('heartbeat_at'))();
  }

  /**
   * Stores all of them in one durable commit, or none. Removes older bodies to make room; throws `InboxFull` if that is
   * not enough.
   */
  store(received: readonly Received[]): void {
    this.#keep(() => this.#add(received, (each) => this.#insert(each)));
  }

  /**
   * Does the same for deliveries that have numbers already. Numbers between the newest stored one and theirs are
   * skipped.
   */
  storeNumbered(received: readonly Numbered[]): void {
    this.#keep(() => {
      this.#goOnAbove((received[0]?.delivery_id ?? 1) - 1);
      this.#add(received, (each) => this.#insertNumbered(each));
    });
  }

  /**
   * Stores copies of the deliveries received since an instant, as waiting again, in order and under new numbers.
   * Returns their number.
   */
  replay(since: Instant, now: Instant): number {
    return this.transaction(() => {
      const copied = this.#copy({ since, now });
      this.#budget.keepWithin(this.#limits.bytes);
      return copied;
    });
  }

  /**
   * Returns the waiting deliveries above a number, in ascending order. Stops after the delivery with which the bodies
   * reach a megabyte.
   */
  after(delivery_id: number, limit: number): Delivery[] {
    const found: Delivery[] = [];
    let bytes = 0;
    for (const row of this.#waiting({ delivery_id, limit })) {
      const next = deliveryOf(row);
      found.push(next);
      bytes += next.body.length;
      if (bytes >= appliedTogetherBytes) break;
    }
    return found;
  }

  /** Records the outcome of a delivery. One that has an outcome keeps it. */
  settle(delivery_id: number, state: Settled, reason: string | null, now: Instant): void {
    const { quarantine } = this.#limits;
    this.transaction(() => {
      if (this.#settle({ delivery_id, state, reason, now }) === 0) return;
      const [ever = 0] = this.#count[state]();
      if (state === 'quarantined' && ever % Math.min(quarantine.rows, trimEvery) === 0) this.#trim(quarantine);
    });
  }

  /** Deletes the deliveries whose outcome was recorded before an instant. Returns their number. */
  prune(before: Instant): number {
    return this.transaction(() => this.#prune({ before }));
  }

  /** Returns the highest number that was used or skipped. */
  newest(): number {
    return this.#newest() ?? 0;
  }

  /** Continues above this number, which a mirror may have applied. Skipped numbers do not count as received. */
  goOnAbove(delivery_id: number): void {
    this.transaction(() => this.#goOnAbove(delivery_id));
  }

  /**
   * Makes the deliveries above this number that have an outcome wait again; returns how many. `gone_since`: arrival of
   * the first one that cannot wait because its body was removed; 0: its row was removed too; null: all can wait.
   */
  waitAgain(delivery_id: number): { readonly deliveries: number; readonly gone_since: number | null } {
    return this.transaction(() => {
      this.#uncount({ delivery_id });
      const wasGivenOut = this.newest() > delivery_id;
      const isGone = wasGivenOut && this.#has({ delivery_id: delivery_id + 1 }) === null;
      const gone_since = isGone ? 0 : this.#firstGone({ delivery_id });
      return { deliveries: this.#unsettle({ delivery_id }), gone_since };
    });
  }

  /** Records that deliveries could be received at this instant. */
  heartbeat(now: Instant): void {
    this.#keep(() => void this.#beat({ now }));
  }

  /** Returns some free pages to the file system; true if there are more. */
  shrink(): boolean {
    if (this.#broken !== null || this.#freeBytes() <= spareBytes) return false;
    withinQuota(this.#file.name, () => this.#file.pragma(`incremental_vacuum(${pagesAtOnce})`));
    return this.#freeBytes() > spareBytes;
  }

  /** Runs several writes in one durable commit; rolls back on any error. */
  transaction<Result>(work: () => Result): Result {
    if (this.#broken !== null) throw this.#broken;
    try {
      return this.db.transaction(work);
    } catch (error) {
      const cause = orSyncFailed(this.#file.name, error);
      if (cause instanceof SyncFailed) this.#broken = cause;
      throw cause;
    }
  }

  /** Commits, and throws if the file has lost its name: nobody can find the commit then. */
  #keep(work: () => void): void {
    this.transaction(work);
    const found = this.#standing();
    if (found !== 'stands') throw lostFile(this.#file.name, 'inbox', found);
  }

  #add<Each extends Received>(received: readonly Each[], insert: (each: Each & Added) => void): void {
    const last = new Map<string, Instant>();
    for (const each of received) {
      const sha256 = hash('sha256', each.body);
      insert({ ...each, ...stored(each.body), truncated: each.truncated ? 1 : 0, sha256 });
      last.set(each.subscription_id, each.received_at);
    }
    for (const [subscription_id, received_at] of last) this.#noteLast({ subscription_id, received_at });
    this.#budget.keepWithin(this.#limits.bytes);
  }

  #goOnAbove(delivery_id: number): void {
    const known = this.#newest();
    if (known === null) this.#beginNumbers();
    if (delivery_id <= (known ?? 0)) return;
    this.#skipTo({ delivery_id });
    this.#noteSkipped({ numbers: delivery_id - (known ?? 0) });
  }

  #freeBytes(): number {
    const number = (pragma: string) => Number(this.#file.pragma(pragma, { simple: true }));
    return number('freelist_count') * number('page_size');
  }
}

/** Counts one more delivery with an outcome; returns the count. */
function countOne(state: Settled) {
  return query
    .updateTable('inbox')
    .set(({ eb }) => ({ [state]: eb(state, '+', 1) }))
    .returning(state);
}
