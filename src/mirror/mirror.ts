import { dirname } from 'node:path';
import type { Instant } from '../clock.ts';
import type { FeedDecision } from '../domain/changes/feed.ts';
import { closeAfterWrites, closeLeavingLog, type Database, damaged, openForWriting } from '../sqlite/database-file.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { isDamage } from '../sqlite/fault.ts';
import { type FileStanding, watchNames } from '../sqlite/identity.ts';
import { healInstants } from '../sqlite/instants.ts';
import { withinQuota } from '../sqlite/quota.ts';
import { type Writes, writesTo } from '../sqlite/statements.ts';
import { type AuditTable, auditTable } from './audits.ts';
import { type CatalogueTables, catalogueTables } from './catalogue/catalogue.ts';
import { applySearchRules } from './catalogue/search/rules.ts';
import { ChangeTable } from './changes/changes.ts';
import { type CheckTables, checkTables } from './checks.ts';
import { claim, type MirrorOptions } from './claim.ts';
import { type EvidenceTable, evidenceTable } from './evidence.ts';
import { type MirrorItself, mirrorItself } from './itself.ts';
import { PushTables } from './push/push.ts';
import { RowRetention } from './rows/retention.ts';
import { type ScheduleTables, scheduleTables } from './schedule/schedule.ts';
import { LogCopy, mirrorFile } from './sql/files.ts';
import { mirrorInstants } from './sql/instants.ts';
import { OnSaleTable } from './status/on-sale.ts';
import { OutcomeTable } from './status/outcomes.ts';

/** The local copy, open for writing. Only one process has it open for writing (the lock), through one connection. */
export interface Mirror extends Disposable, Omit<MirrorItself, 'noteFilled'> {
  readonly path: string;
  /** Decision made at this start: the change feed continues, or begins again. */
  readonly feed: FeedDecision;
  /** Returns whether the open files still have their names. No reader sees writes to files that do not. */
  standing(): FileStanding;
  readonly catalogue: CatalogueTables;
  readonly push: PushTables;
  readonly schedule: ScheduleTables;
  readonly changes: ChangeTable;
  readonly checks: CheckTables;
  readonly audits: AuditTable;
  readonly evidence: EvidenceTable;
  readonly rows: RowRetention;
  readonly status: { readonly onSale: OnSaleTable; readonly outcomes: OutcomeTable };
  /** All or nothing. Never await inside: there is one connection. */
  transaction<Result>(work: () => Result): Result;
  /** Reports each commit that added to the change feed; by then any reader sees it. Rollbacks are not reported. */
  onChanges(listener: () => void): Disposable;
  /** Repairs instants that a wrong clock has written. Returns the number of changed rows, by table. */
  healInstants(now: Instant): Record<string, number>;
  /** Notes, once, that every record has been read. */
  markFilled(now: Instant): void;
  /** Brings up to date what the planner knows of tables that have grown. */
  optimise(): void;
  /**
   * Copies the write-ahead log into the file where there is much of it, `tight` also where there is little; returns its
   * size in bytes afterwards. A full disk or another writer leaves it as it is: the next one goes on.
   */
  checkpoint(space?: 'plenty' | 'tight'): number;
  /** Sets how many milliseconds a write waits, and blocks the event loop, while another program writes. */
  waitForLocks(ms: number): void;
}

/** Opens or makes the mirror; see `openForWriting` for what is refused, and how. */
export function openMirror(options: MirrorOptions): Mirror {
  prepareDirectory(dirname(options.path), 0o3770);
  const db = openForWriting(options.path, mirrorFile, { backups: options.backups });
  try {
    const feed = claim(db, options);
    applySearchRules(db);
    return mirrorOver(db, options, feed);
  } catch (error) {
    closeLeavingLog(db);
    throw asDamage(options.path, error);
  }
}

function asDamage(path: string, error: unknown): unknown {
  return isDamage(error) ? damaged(path, (error as Error).message, error) : error;
}

function mirrorOver(connection: Database, { path, feed }: MirrorOptions, decision: FeedDecision): Mirror {
  const writes = writesTo(connection);
  const { noteFilled, ...itself } = mirrorItself(writes);
  const changes = new ChangeTable(writes, feed);
  const push = new PushTables(writes);
  const log = new LogCopy(connection, path);
  const optimise = () => void withinQuota(path, () => connection.pragma('optimize'));

  return {
    path,
    feed: decision,
    standing: watchNames(path),
    ...itself,
    catalogue: catalogueTables(writes, { changes, closures: push.closures }),
    push,
    schedule: scheduleTables(writes),
    changes,
    checks: checkTables(writes),
    audits: auditTable(writes),
    evidence: evidenceTable(writes),
    rows: new RowRetention(writes),
    status: { onSale: new OnSaleTable(writes), outcomes: new OutcomeTable(writes) },
    ...telling(connection, writes, changes),
    healInstants: (now) => healInstants(connection, mirrorInstants, now),
    markFilled: (now) => {
      if (noteFilled(now)) optimise();
    },
    optimise,
    checkpoint: (space) => log.checkpoint(space),
    waitForLocks: (ms) => log.waitForLocks(ms),
    [Symbol.dispose]: () => closeAfterWrites(connection),
  };
}

/** Returns the transactions of the mirror, which notify listeners when they have added to the change feed. */
function telling(
  connection: Database,
  writes: Writes,
  changes: ChangeTable,
): Pick<Mirror, 'transaction' | 'onChanges'> {
  const listeners = new Set<() => void>();
  return {
    transaction: (work) => {
      const before = changes.added();
      const result = writes.transaction(work);
      if (changes.added() > before && !connection.inTransaction) for (const listener of listeners) listener();
      return result;
    },
    onChanges: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
