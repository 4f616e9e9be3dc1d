import { CurrencyTable, makePrimary } from '../catalogue/editions.store.ts';
import type { ImageSize } from '../catalogue/image.rules.ts';
import { ShownProducts } from '../catalogue/product-texts.store.ts';
import { captureRows, type Publish } from '../feed/capture.store.ts';
import { ChangeReads, type FeedCeiling } from '../feed/changes.store.ts';
import { type FeedDecision, judgeFeed } from '../feed/feed.rules.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { Database } from '../kernel/sqlite/database-file.ts';
import { repairHint } from '../kernel/sqlite/refusals.ts';
import { type Bound, readsOf, type Writes, writesTo } from '../kernel/sqlite/statements.ts';
import { contractVersion } from './contract/contract.ts';
import { query } from './sql/sql.ts';
import type { Tables } from './sql/tables.ts';

export interface MirrorOptions {
  readonly path: string;
  /** The inbox's pair id: a mirror that belongs to another inbox is refused (78). */
  readonly pair_id: string;
  readonly written_by: string;
  readonly language: string;
  readonly currency: string;
  /** Image size whose files the view `images` shows; null if no files are kept. */
  readonly image_size: ImageSize | null;
  /** Verified copies that exist: beside one, an empty file is damage and not a first run. */
  readonly backups: readonly string[];
  /** The inbox's record of the feed; absent if nothing outlives this mirror. */
  readonly feed?: FeedMemory;
  /** Deliveries that wait in the inbox have numbers above it; null: none waits. */
  readonly waits_above?: number | null;
  /** Selects the rows whose changes are recorded for copies on other hosts; absent: none. */
  readonly publish_rows?: Publish;
  /** An argument, so that tests can control it. */
  readonly newFeedId: () => string;
}

/** Record that outlives a mirror, so that a new mirror gives out no number twice. */
export interface FeedMemory extends FeedCeiling {
  /**
   * Any mirror is accepted and paired again (`any`), no mirror existed (`none`), or the pair ids have to agree (`known`).
   */
  readonly mirror: 'none' | 'any' | 'known';
  readonly witnessed: number;
  isSame(mirror_path: string): boolean;
}

type Claimed = MirrorOptions & { readonly contract_version: number; readonly schema_version: number };

/** Columns by which a mirror identifies itself. */
type OwnRow = Pick<Tables['_mirror'], 'pair_id' | 'contract_version' | 'written_by' | 'last_delivery_id'>;

/** Reads them, also before the file is brought up to date; null: it has no row yet. */
export function readOwnRow(db: Database): OwnRow | null {
  const columns = 'pair_id, contract_version, written_by, last_delivery_id';
  return db.prepare<[], OwnRow>(`SELECT ${columns} FROM _mirror`).get() ?? null;
}

/** Pairs the mirror with the inbox, and decides whether its feed goes on. */
export function claim(connection: Database, options: MirrorOptions): FeedDecision {
  const { path, pair_id, language, currency, feed, newFeedId, publish_rows = 'none', waits_above = null } = options;
  const db = writesTo(connection);
  const stored = db.row(() => query.selectFrom('_mirror').select(['pair_id', 'feed_id', 'language', 'currency']))();
  const paired = stored?.pair_id === pair_id;
  if (stored !== null && !paired && feed?.mirror !== 'any') throw foreignPair(path);
  const decision = judgeFeed({
    identified: (stored?.feed_id ?? null) !== null,
    paired,
    same_file: feed?.isSame(path) ?? true,
    newest: new ChangeReads(readsOf(connection)).newest(),
    witnessed: feed?.witnessed ?? 0,
    ceiling: feed?.ceiling() ?? 0,
  });
  const schema_version = Number(connection.pragma('user_version', { simple: true }));
  db.transaction(() => {
    writeClaim(db, { ...options, contract_version: contractVersion, schema_version });
    makePrimary(db, language);
    new CurrencyTable(db).followWalks();
    if (stored !== null && (stored.language !== language || stored.currency !== currency))
      new ShownProducts(db).allAgain();
    if (decision.feed === 'new') beginFeed(db, newFeedId(), decision.above);
    // Deliveries that wait in the inbox are numbered differently: apply all of them.
    if (!paired && waits_above !== null) lowerLastDelivery(db, waits_above);
  });
  const another = decision.feed === 'new' || !(feed?.isSame(path) ?? true);
  captureRows(connection, { publish: publish_rows, another, newOrigin: newFeedId });
  return decision;
}

function writeClaim(db: Writes, row: Claimed): void {
  const put = db.change((bound: Bound<Claimed>) => {
    const { pair_id, written_by, language, currency, image_size, contract_version, schema_version } = bound;
    const claimed = { pair_id, written_by, language, currency, image_size, contract_version, schema_version };
    return query
      .insertInto('_mirror')
      .values({ mirror_id: 1, ...claimed })
      .onConflict((taken) => taken.doUpdateSet(claimed));
  });
  put(row);
}

function lowerLastDelivery(db: Writes, waits_above: number): void {
  const lower = db.change(({ most }: Bound<{ most: number }>) =>
    query.updateTable('_mirror').set((of) => ({ last_delivery_id: of.fn<number>('min', ['last_delivery_id', most]) })),
  );
  lower({ most: waits_above });
}

function beginFeed(db: Writes, feed_id: string, above: number | null): void {
  const name = db.change((bound: Bound<{ feed_id: string }>) =>
    query.updateTable('_mirror').set({ feed_id: bound.feed_id }),
  );
  name({ feed_id });
  if (above === null) return;
  type Above = Bound<{ above: number }>;
  const raiseFloor = db.change((bound: Above) =>
    query
      .updateTable('_mirror')
      .set((of) => ({ feed_floor_seq: of.fn<number>('max', ['feed_floor_seq', bound.above]) })),
  );
  const raiseNumbers = db.change((bound: Above) =>
    query
      .updateTable('sqlite_sequence')
      .set((of) => ({ seq: of.fn<number>('max', ['seq', bound.above]) }))
      .where('name', '=', '_change'),
  );
  const beginNumbers = db.change((bound: Above) =>
    query.insertInto('sqlite_sequence').values({ name: '_change', seq: bound.above }),
  );
  raiseFloor({ above });
  if (raiseNumbers({ above }) === 0) beginNumbers({ above });
}

export function foreignPair(path: string): CataloguedError {
  return new CataloguedError(
    'foreign-pair',
    `${path} belongs to another inbox.db than the one in the state directory`,
    {
      exitCode: exitCodes.configuration,
      hint: `name the mirror.path and mirror.state_dir that belong together; where that inbox is lost, ${repairHint}`,
    },
  );
}
