import { dirname } from 'node:path';
import { CatalogueTables } from '../catalogue/catalogue.store.ts';
import { AuditTable, CheckTables } from '../desk/checks.store.ts';
import { ChangeTable } from '../feed/changes.store.ts';
import type { FeedDecision } from '../feed/feed.rules.ts';
import { RowRetention } from '../feed/retention.store.ts';
import type { Instant } from '../kernel/clock.ts';
import {
  closeAfterWrites,
  closeLeavingLog,
  type Database,
  damaged,
  openForWriting,
} from '../kernel/sqlite/database-file.ts';
import { prepareDirectory } from '../kernel/sqlite/directory.ts';
import { isDamage } from '../kernel/sqlite/fault.ts';
import { type FileStanding, watchNames } from '../kernel/sqlite/identity.ts';
import { healInstants } from '../kernel/sqlite/instants.ts';
import { withinQuota } from '../kernel/sqlite/quota.ts';
import { type Bound, Store, type Writes, writesTo } from '../kernel/sqlite/statements.ts';
import { ClosureTable } from '../push/closures.store.ts';
import { CoverageTable } from '../push/coverage.store.ts';
import { GapTable, NoticeTable } from '../push/notices.store.ts';
import { SubscriptionTable } from '../push/subscriptions.store.ts';
import { OnSaleTable } from '../says/status/on-sale.store.ts';
import { OutcomeTable } from '../says/status/outcomes.store.ts';
import { BudgetTable, InterestTable, SiblingReads, SignalTable } from '../schedule/budget.store.ts';
import { OfferTable } from '../schedule/offers.store.ts';
import { nextOfAll } from '../schedule/record-reads.store.ts';
import { RecordTable } from '../schedule/records.store.ts';
import { ResyncTable } from '../schedule/resyncs.store.ts';
import { TargetTable } from '../schedule/targets.store.ts';
import { ShortListTable, WalkTable } from '../schedule/walks.store.ts';
import { applySearchRules } from '../storefront/search/search.store.ts';
import { EvidenceTable } from '../trust/evidence.store.ts';
import { claim, type MirrorOptions } from './pair-with-inbox.ts';
import { LogCopy, mirrorFile } from './sql/files.ts';
import { mirrorInstants } from './sql/instants.ts';
import { query, setBy } from './sql/sql.ts';

/** Tables of change notifications: those received, expected and missed, and the subscriptions that send them. */
class PushTables extends Store<Writes> {
  readonly closures = new ClosureTable(this.db);
  readonly coverage = new CoverageTable(this.db);
  readonly gaps = new GapTable(this.db);
  readonly notices = new NoticeTable(this.db);
  readonly subscriptions = new SubscriptionTable(this.db);
}

/** Tables of the planner: each record with its next read, the reason for it and the result of the last one. */
class ScheduleTables extends Store<Writes> {
  readonly records = new RecordTable(this.db);
  readonly walks = new WalkTable(this.db);
  readonly shortLists = new ShortListTable(this.db);
  readonly jobs = new ResyncTable(this.db);
  readonly budget = new BudgetTable(this.db);
  readonly signals = new SignalTable(this.db);
  readonly siblings = new SiblingReads(this.db);
  readonly interest = new InterestTable(this.db);
  readonly offers = new OfferTable(this.db);
  readonly targets = new TargetTable(this.db);
}

/** The local copy, open for writing. Only one process has it open for writing (the lock), through one connection. */
export class Mirror extends Store<Writes> implements Disposable {
  readonly path: string;
  /** Decision made at this start: the change feed continues, or begins again. */
  readonly feed: FeedDecision;
  readonly changes: ChangeTable;
  readonly push = new PushTables(this.db);
  readonly catalogue: CatalogueTables;
  readonly schedule = new ScheduleTables(this.db);
  readonly checks = new CheckTables(this.db);
  readonly audits = new AuditTable(this.db);
  readonly evidence = new EvidenceTable(this.db);
  readonly rows = new RowRetention(this.db);
  readonly status = { onSale: new OnSaleTable(this.db), outcomes: new OutcomeTable(this.db) };
  /** Returns whether the open files still have their names. No reader sees writes to files that do not. */
  readonly standing: () => FileStanding;
  readonly #connection: Database;
  readonly #log: LogCopy;
  readonly #listeners = new Set<() => void>();
  readonly #noted = this.db.row(() =>
    query.selectFrom('_mirror').select(['filled_at', 'last_delivery_id', 'last_order_number']),
  );
  readonly #idleUntil = this.db.row(() =>
    query
      .selectFrom('_mirror')
      .select(nextOfAll().as('at'))
      .where('filled_at', 'is not', null)
      .where(({ exists, not, selectFrom }) =>
        not(exists(selectFrom('_job').select('job_id').where('finished_at', 'is', null))),
      )
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom(selectFrom('_change').select('kind').orderBy('seq', 'desc').limit(1).as('last'))
              .select('kind')
              .where('kind', '<>', 'pass_completed'),
          ),
        ),
      ),
  );
  /** Returns the instant at which the newest stored read was sent; null if there is none. */
  readonly lastReadAt = this.db.value(() =>
    query.selectFrom('_record').select((of) => of.fn.max<number | null>('fetched_at').as('at')),
  );
  readonly #noteFilled = this.db.change(({ now }: Bound<{ now: Instant }>) =>
    query.updateTable('_mirror').set({ filled_at: now }).where('filled_at', 'is', null),
  );
  readonly noteDelivery = this.db.change(setBy('_mirror', [], ['last_delivery_id']));
  readonly noteOrder = this.db.change(setBy('_mirror', [], ['last_order_number']));
  readonly #touch = this.db.change(() => query.updateTable('_mirror').set((of) => ({ pair_id: of.ref('pair_id') })));

  constructor(connection: Database, { path, feed }: MirrorOptions, decision: FeedDecision) {
    super(writesTo(connection));
    this.path = path;
    this.feed = decision;
    this.changes = new ChangeTable(this.db, feed);
    this.catalogue = new CatalogueTables(this.db, this.changes, this.push.closures);
    this.standing = watchNames(path);
    this.#connection = connection;
    this.#log = new LogCopy(connection, path);
  }

  filledAt(): number | null {
    return this.#noted()?.filled_at ?? null;
  }

  /**
   * Returns whether a sync cycle has nothing to read and nothing to end: the mirror is filled, no resync is open, all
   * changes belong to an ended cycle, and no record is due. One statement, because it is asked each second.
   */
  isIdle(now: Instant): boolean {
    const next = this.#idleUntil();
    return next !== null && (next.at === null || next.at > now);
  }

  /** Notes, once, that every record has been read. */
  markFilled(now: Instant): void {
    if (this.#noteFilled({ now }) > 0) this.optimise();
  }

  /** Returns how far the inbox was applied: the number of a delivery, noted in the transaction of its effects. */
  lastDelivery(): number {
    return this.#noted()?.last_delivery_id ?? 0;
  }

  /** Returns how far the inbox's orders were counted: the number of one, noted in the transaction of its counts. */
  lastOrder(): number {
    return this.#noted()?.last_order_number ?? 0;
  }

  /** Commits a write that changes nothing: throws what any other write would throw now. */
  touch(): void {
    this.db.transaction(() => this.#touch());
  }

  /** All or nothing. Never await inside: there is one connection. */
  transaction<Result>(work: () => Result): Result {
    const before = this.changes.added();
    const result = this.db.transaction(work);
    if (this.changes.added() > before && !this.#connection.inTransaction)
      for (const listener of this.#listeners) listener();
    return result;
  }

  /** Reports each commit that added to the change feed; by then any reader sees it. Rollbacks are not reported. */
  onChanges(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Repairs instants that a wrong clock has written. Returns the number of changed rows, by table. */
  healInstants(now: Instant): Record<string, number> {
    return healInstants(this.#connection, mirrorInstants, now);
  }

  /** Brings up to date what the planner knows of tables that have grown. */
  optimise(): void {
    withinQuota(this.path, () => this.#connection.pragma('optimize'));
  }

  /**
   * Copies the write-ahead log into the file where there is much of it, `tight` also where there is little; returns its
   * size in bytes afterwards. A full disk or another writer leaves it as it is: the next one goes on.
   */
  checkpoint(space?: 'plenty' | 'tight'): number {
    return this.#log.checkpoint(space);
  }

  /** Sets how many milliseconds a write waits, and blocks the event loop, while another program writes. */
  waitForLocks(ms: number): void {
    this.#log.waitForLocks(ms);
  }

  [Symbol.dispose](): void {
    closeAfterWrites(this.#connection);
  }
}

/** Opens or makes the mirror; see `openForWriting` for what is refused, and how. */
export function openMirror(options: MirrorOptions): Mirror {
  prepareDirectory(dirname(options.path), 0o3770);
  const db = openForWriting(options.path, mirrorFile, { backups: options.backups });
  try {
    const feed = claim(db, options);
    applySearchRules(db);
    return new Mirror(db, options, feed);
  } catch (error) {
    closeLeavingLog(db);
    throw asDamage(options.path, error);
  }
}

function asDamage(path: string, error: unknown): unknown {
  return isDamage(error) ? damaged(path, (error as Error).message, error) : error;
}
