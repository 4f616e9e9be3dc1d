import { dirname } from 'node:path';
import type { Instant } from '../clock.ts';
import type { FeedDecision } from '../domain/changes/feed.ts';
import { type Database, damaged, openForWriting } from '../sqlite/database-file.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { isDamage } from '../sqlite/fault.ts';
import { type FileStanding, watchNames } from '../sqlite/identity.ts';
import { healInstants } from '../sqlite/instants.ts';
import { withinQuota } from '../sqlite/quota.ts';
import { type Writes, writesTo } from '../sqlite/statements.ts';
import { type AuditTable, auditTable } from './audits.ts';
import { type AvailabilityTables, availabilityTables } from './catalogue/availability.ts';
import { type AvailabilityContextTable, availabilityContext } from './catalogue/availability-context.ts';
import { type CategoryTable, categoryTable } from './catalogue/categories.ts';
import { type CheckoutInformationTable, checkoutInformationTable } from './catalogue/checkout-information.ts';
import { type Pricing, pricingOf } from './catalogue/dates/pricing.ts';
import { type ExperienceTables, experienceTables } from './catalogue/experiences.ts';
import { type ImageFileTable, imageFileTable } from './catalogue/image-file/files.ts';
import { type ImageLedger, imageLedger } from './catalogue/image-ledger.ts';
import { type LanguageTable, languageTable } from './catalogue/languages.ts';
import { shownProducts } from './catalogue/product/shown.ts';
import { type ProductTables, productTables } from './catalogue/products.ts';
import { type RemovalTable, removalTable } from './catalogue/removals.ts';
import { type ListPlaceTable, listPlaceTable } from './catalogue/search/list-places.ts';
import { applySearchRules } from './catalogue/search/rules.ts';
import { searchTable } from './catalogue/search.ts';
import { type TagTables, tagTables } from './catalogue/tags.ts';
import { type VariantTables, variantTables } from './catalogue/variants.ts';
import { zoneTable } from './catalogue/zones.ts';
import { type ChangeTable, changeTable, noCeiling } from './changes/changes.ts';
import { type CheckTables, checkTables } from './checks.ts';
import { claim, type MirrorOptions } from './claim.ts';
import { type EvidenceTable, evidenceTable } from './evidence.ts';
import { type MirrorItself, mirrorItself } from './itself.ts';
import { type ClosureTable, closureTable } from './push/closures.ts';
import { type SubscriptionTable, subscriptionTable } from './push/subscriptions.ts';
import { type TrustTable, trustTable } from './push/trust.ts';
import { type RowRetention, rowRetention } from './rows/retention.ts';
import { type BudgetTable, budgetTable } from './schedule/budget.ts';
import { type InterestTable, interestTable } from './schedule/interest.ts';
import { type JobTable, jobTable } from './schedule/jobs.ts';
import { type OfferTable, offerTable } from './schedule/offers.ts';
import { type RecordTable, recordTable } from './schedule/records.ts';
import { type ShortListTable, shortListTable } from './schedule/short-lists.ts';
import { type SiblingReads, siblingReads } from './schedule/siblings.ts';
import { type SignalTable, signalTable } from './schedule/signals.ts';
import { type TargetTable, targetTable } from './schedule/targets.ts';
import { type WalkTable, walkTable } from './schedule/walks.ts';
import { mirrorFile } from './sql/files.ts';
import { mirrorInstants } from './sql/instants.ts';
import { logCopy } from './sql/log-copy.ts';
import { type OnSaleTable, onSaleTable } from './status/on-sale.ts';
import { type OutcomeTable, outcomeTable } from './status/outcomes.ts';

/** The local copy, open for writing. Only one process has it open for writing (the lock), through one connection. */
export interface Mirror extends Disposable, Omit<MirrorItself, 'noteFilled'> {
  readonly path: string;
  /** Decision made at this start: the change feed continues, or begins again. */
  readonly feed: FeedDecision;
  /** Returns whether the open files still have their names. No reader sees writes to files that do not. */
  standing(): FileStanding;
  readonly products: ProductTables;
  readonly images: ImageLedger;
  readonly trust: TrustTable;
  readonly closures: ClosureTable;
  readonly availability: AvailabilityTables;
  readonly pricing: Pricing;
  readonly contexts: AvailabilityContextTable;
  readonly checkoutInformation: CheckoutInformationTable;
  readonly variants: VariantTables;
  readonly experiences: ExperienceTables;
  readonly tags: TagTables;
  readonly imageFiles: ImageFileTable;
  readonly records: RecordTable;
  readonly walks: WalkTable;
  readonly shortLists: ShortListTable;
  readonly jobs: JobTable;
  readonly budget: BudgetTable;
  readonly signals: SignalTable;
  readonly siblings: SiblingReads;
  readonly interest: InterestTable;
  readonly changes: ChangeTable;
  readonly checks: CheckTables;
  readonly audits: AuditTable;
  readonly offers: OfferTable;
  readonly onSale: OnSaleTable;
  readonly removals: RemovalTable;
  readonly evidence: EvidenceTable;
  readonly rows: RowRetention;
  readonly outcomes: OutcomeTable;
  readonly categories: CategoryTable;
  readonly languages: LanguageTable;
  readonly listPlaces: ListPlaceTable;
  readonly subscriptions: SubscriptionTable;
  /** All or nothing. Never await inside: there is one connection. */
  transaction<Result>(work: () => Result): Result;
  /** Reports each commit that added to the change feed; by then any reader sees it. Rollbacks are not reported. */
  onChanges(listener: () => void): Disposable;
  readonly targets: TargetTable;
  /** Writes all zones again, for the years around now. */
  writeZones(now: Instant): void;
  /** Does so where the clocks of one were changed since. */
  renewZones(now: Instant): void;
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
    db.close();
    throw asDamage(options.path, error);
  }
}

function asDamage(path: string, error: unknown): unknown {
  return isDamage(error) ? damaged(path, (error as Error).message, error) : error;
}

function mirrorOver(connection: Database, { path, feed }: MirrorOptions, decision: FeedDecision): Mirror {
  const writes = writesTo(connection);
  const { noteFilled, ...itself } = mirrorItself(writes);
  const changes = changeTable(writes, feed ?? noCeiling);
  const pricing = pricingOf(writes, changes);
  const closures = closureTable(writes);
  const shown = shownProducts(writes);
  const search = searchTable(writes);
  const images = imageLedger(writes);
  const zones = zoneTable(writes);
  const log = logCopy(connection, path);
  const optimise = () => void withinQuota(path, () => connection.pragma('optimize'));

  return {
    path,
    feed: decision,
    standing: watchNames(path),
    ...itself,
    products: productTables(writes, { changes, closures, shown, search, images, zones }),
    images,
    closures,
    trust: trustTable(writes),
    availability: availabilityTables(writes, changes),
    pricing,
    contexts: availabilityContext(writes),
    checkoutInformation: checkoutInformationTable(writes, changes),
    variants: variantTables(writes, changes, pricing),
    experiences: experienceTables(writes, { search, changes }),
    tags: tagTables(writes, { changes }),
    imageFiles: imageFileTable(writes),
    records: recordTable(writes),
    walks: walkTable(writes),
    shortLists: shortListTable(writes),
    jobs: jobTable(writes),
    budget: budgetTable(writes),
    signals: signalTable(writes),
    siblings: siblingReads(writes),
    interest: interestTable(writes),
    changes,
    checks: checkTables(writes),
    audits: auditTable(writes),
    offers: offerTable(writes),
    onSale: onSaleTable(writes),
    evidence: evidenceTable(writes),
    removals: removalTable(writes, { changes, search, images }),
    rows: rowRetention(writes),
    outcomes: outcomeTable(writes),
    categories: categoryTable(writes),
    languages: languageTable(writes, shown, search),
    listPlaces: listPlaceTable(writes),
    subscriptions: subscriptionTable(writes),
    ...telling(connection, writes, changes),
    targets: targetTable(writes),
    writeZones: zones.write,
    renewZones: zones.renew,
    healInstants: (now) => healInstants(connection, mirrorInstants, now),
    markFilled: (now) => {
      if (noteFilled(now)) optimise();
    },
    optimise,
    checkpoint: log.checkpoint,
    waitForLocks: log.waitForLocks,
    [Symbol.dispose]: () => {
      try {
        log.finish();
      } finally {
        connection.close();
      }
    },
  };
}

/** Returns the transactions of the mirror, which notify listeners when they have added to the change feed. */
function telling(
  connection: Database,
  writes: Writes,
  changes: Pick<ChangeTable, 'added'>,
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
