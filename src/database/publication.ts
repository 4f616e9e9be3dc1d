import { CataloguedError, exitCodes } from '../errors.ts';
import { newestChange, newestNumber } from '../mirror/rows/capture.ts';
import { type RowPage, RowPages } from '../mirror/rows/pages.ts';
import type { Database } from '../sqlite/database-file.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import { type Postgres, quoted, type Statements } from './connect.ts';
import { briefly, inMoments, isStanding, layoutOf, takeStep } from './layout.ts';
import { type Done, type PublicationTurn, publishWhole, type WholeOptions } from './publish-whole.ts';
import { beginOrigin, grant, type Published, type PublishedState, publishedIn } from './schema.ts';
import { dropRows, putRows, shapesOf, type TableShape } from './tables.ts';

interface ChangesOptions {
  readonly schema: string;
  readonly shapes: readonly TableShape[];
  readonly pages: RowPages;
  /** Epoch milliseconds: all is as the mirror was then, or newer. */
  readonly at: number;
}

/** Rows read, and sent, at a time. */
const pageRows = 1000;
/** A follower that was away for longer, or has missed more, starts again. */
const keptDays = 7;
const keptKeys = 1_000_000;

/** Publishes what has changed since as one state; null: that is not known any more. */
async function publishChanges(statements: Statements, from: Published, options: ChangesOptions): Promise<Done | null> {
  const published_at = options.at;
  const done = await putPages(statements, from, options);
  if (done === null) return null;
  const { source_number, rows } = done;
  const state = rows > 0 ? from.state + 1 : from.state;
  const floor = rows > 0 ? await forget(statements, state, from.floor) : from.floor;
  await statements.query(
    'UPDATE _published SET origin = $1, state = $2, floor = $3, source_origin = $4, source_number = $5, published_at = $6',
    [from.origin, state, floor, from.source_origin, source_number, published_at],
  );
  if (rows > 0) await statements.query('SELECT pg_notify($1, $2)', [options.schema, String(state)]);
  return { ...from, state, floor, source_number, published_at, rows, whole: false };
}

async function putPages(statements: Statements, from: Published, { pages, shapes }: ChangesOptions) {
  let source_number = from.source_number;
  let rows = 0;
  for (;;) {
    const page = pageAfter(pages, from.source_origin, source_number);
    if (page === null || page.schema_version !== from.schema_version) return null;
    for (const table of page.tables) {
      const shape = shapes.find(({ name }) => name === table.table);
      // Recorded because there are standby instances: published with the next whole publication.
      if (shape === undefined) continue;
      if (table.gone.length > 0) rows += await dropRows(statements, shape, table.gone, from.state + 1);
      if (table.rows.length > 0) rows += await putRows(statements, shape, table.rows, from.state + 1);
    }
    source_number = page.number;
    if (page.whole) return { source_number, rows };
  }
}

function pageAfter(pages: RowPages, origin: string, after: number): RowPage | null {
  try {
    return pages.after({ origin, after, limit: pageRows });
  } catch (error) {
    if (error instanceof CataloguedError && error.code === 'rows-begun-anew') return null;
    throw error;
  }
}

/** Number of states between two deletions of keys that followers no longer need. */
const forgetEvery = 256;

/** Returns the new floor: what is older than a week, or than as many keys as a follower would take in. */
async function forget({ query }: Statements, state: number, floor: number): Promise<number> {
  if (state % forgetEvery !== 0) return floor;
  const [found] = await query<{ floor: number | null }>(
    `WITH last AS (
       SELECT max(state) AS state FROM (SELECT state, at, sum(n) OVER (ORDER BY state DESC) AS n FROM _row) AS each
       WHERE n > ${keptKeys} OR at < now() - interval '${keptDays} days'
     ), old AS (DELETE FROM _row USING last WHERE _row.state <= last.state),
     former AS (DELETE FROM _origin USING last WHERE _origin.until < last.state)
     SELECT state AS floor FROM last`,
  );
  return Math.max(floor, found?.floor ?? 0);
}

/** The mirror's rows are captured (`captureRows`). */
export interface PublicationOptions extends WholeOptions {
  readonly postgres: Postgres;
  /** Throws in the transaction where somebody else may publish by now; absent: nobody else does. */
  readonly fence?: (statements: Statements) => Promise<void>;
  /** State that the mirror was equal to before it recorded any row; absent or null if unknown. */
  readonly begun?: PublishedState | null;
}

/** Published state, and the change that it reaches. */
export type Finished = Done & {
  readonly change: number;
  /** Tables whose rows were counted and were not as many as the mirror's: all of it was compared and published again. */
  readonly repaired: Readonly<Record<string, RowCounts>>;
};

interface RowCounts {
  readonly mirror: number;
  readonly database: number;
}

/** Milliseconds between two counts of all rows. A person, or a restored table, changes what no publication would notice. */
const countEveryMs = 24 * 3_600_000;

/** Publishes a mirror's states. Its methods throw what PostgreSQL says, and then nothing was published. */
export interface Publication extends Disposable {
  /** Publishes what has changed since the last time, or everything where that is not known. */
  publish(): Promise<Finished>;
  /** Returns whether anything has changed since the last publication, as far as this process knows. */
  isBehind(): boolean;
}

export function publicationOf(options: PublicationOptions): Publication {
  const { schema, mirror_path, now, newOrigin, begun = null } = options;
  const db = openReadOnly(mirror_path);
  const newest = db.prepare<[], number>(`SELECT ${newestNumber}`).pluck();
  const newestTold = db.prepare<[], number>(`SELECT ${newestChange}`).pluck();
  const noted = db.prepare<[], Pick<Published, 'source_origin' | 'source_number'>>(
    'SELECT origin AS source_origin, floor AS source_number FROM _row_feed',
  );
  const goingOn = (from: Published) =>
    from.origin === begun?.origin && from.state === begun.state ? { ...from, ...noted.get() } : from;
  const changes = { schema, pages: new RowPages(db), shapes: shapesOf(db) };
  let last: Published | null = null;
  let counted_at = Number.NEGATIVE_INFINITY;
  return {
    publish: async () => {
      // Before it is read: all is as the mirror was then, or newer.
      const at = now();
      // One state, however long it takes: a daemon that writes faster would never be caught up with.
      db.exec('BEGIN');
      const change = newestTold.get() ?? 0;
      // The first time because the publisher before may have been another version, or was killed before the last step.
      const counts = last === null || Math.abs(at - counted_at) >= countEveryMs;
      let repaired: Finished['repaired'] = {};
      const done = await publishing(options, async (statements) => {
        const found = await publishedIn(statements);
        if (found === null) return await publishWhole(statements, options, null);
        refuseOthers(found, db);
        const from = isOurs(found, last)
          ? found
          : { ...goingOn(found), origin: await beginOrigin(statements, found, newOrigin) };
        const layout = counts ? await layoutOf(statements, changes.shapes) : null;
        const stands = layout === null || isStanding(layout);
        const changed = stands ? await publishChanges(statements, from, { ...changes, at }) : null;
        if (changed === null) return await publishWhole(statements, options, from);
        if (counts) repaired = await miscounted(statements, db, changes.shapes);
        if (Object.keys(repaired).length > 0) return await publishWhole(statements, options, changed);
        return { done: changed, after: layout?.after ?? [] };
      }).finally(() => db.exec('COMMIT'));
      last = done;
      if (counts) counted_at = at;
      return { ...done, change, repaired };
    },
    isBehind: () => newest.get() !== last?.source_number,
    [Symbol.dispose]: () => void db.close(),
  };
}

/** Returns the tables that have not as many rows as the mirror's, of the same state. */
async function miscounted({ query }: Statements, db: Database, shapes: readonly TableShape[]) {
  const found: Record<string, RowCounts> = {};
  for (const { name } of shapes) {
    const [{ database } = { database: 0 }] = await query<{ database: number }>(
      `SELECT count(*) AS database FROM ${quoted(name)}`,
    );
    const mirror = db.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get() ?? 0;
    if (mirror !== database) found[name] = { mirror, database };
  }
  return found;
}

/** In milliseconds: what whoever was killed, or stands still, in the middle of a publication holds is free after it. */
const killedMs = 1000;
const standstillMs = 4000;

/**
 * Publishes in one transaction, one publication after another. What readers would wait for is done in transactions of its
 * own, before or afterwards, each in a moment.
 */
export async function publishing(
  { postgres, schema, fence }: PublicationOptions,
  work: (statements: Statements) => Promise<PublicationTurn>,
): Promise<Done> {
  const inTurn = <Result>(does: (statements: Statements) => Promise<Result>) =>
    postgres.transaction(async (statements) => {
      await statements.query(`SET LOCAL idle_in_transaction_session_timeout TO ${standstillMs}`);
      // Known of Linux alone; elsewhere a killed one's statement ends first.
      await statements.query(
        `SELECT set_config('client_connection_check_interval', '${killedMs}', true) WHERE version() ~ 'linux'`,
      );
      await statements.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`catalogued ${schema}`]);
      return await does(statements);
    });
  const inMomentsOfItsOwn = (does: (statements: Statements, patience_ms: number) => Promise<void>) =>
    inMoments(
      (patience_ms) =>
        inTurn(async (statements) => {
          await fence?.(statements);
          // Readers wait from the last statement to the end of the commit: no disk and no other server makes it longer. What
          // a crash takes away is done with the next publication.
          await statements.query('SET LOCAL synchronous_commit TO off');
          await does(statements, patience_ms);
        }),
      (seconds) => postgres.query('SELECT pg_sleep($1)', [seconds]),
    );
  for (;;) {
    const outcome = await inTurn(async (statements) => {
      const turn = await work(statements);
      // Last: a long publication must not delay the renewal of the lease.
      await fence?.(statements);
      return turn;
    });
    if (outcome.done === null)
      for (const sql of outcome.before)
        await inMomentsOfItsOwn((each, patience_ms) => briefly(each, [sql], patience_ms));
    else {
      for (const step of outcome.after)
        await inMomentsOfItsOwn((each, patience_ms) => takeStep(each, step, patience_ms));
      if (outcome.after.length > 0) await inTurn((each) => grant(each, schema));
      return outcome.done;
    }
  }
}

/**
 * Returns whether this process published the current state. Otherwise another one did before its first, or the database has
 * lost the last ones: it was restored, or is a replica that was promoted without them.
 */
function isOurs(found: Published, last: Published | null): boolean {
  return found.origin === last?.origin && found.state >= last.state;
}

/** Two mirrors in one schema would take turns; an older program would publish what newer ones know better. */
export function refuseOthers(from: Published, db: Database): void {
  const schema_version = Number(db.pragma('user_version', { simple: true }));
  if (!isOf(from, db))
    throw new CataloguedError('database-taken', 'the schema holds the mirror of another installation', {
      exitCode: exitCodes.configuration,
      hint: 'name another one in database.schema; to replace what it holds: catalogued database import --replace',
    });
  if (from.schema_version > schema_version)
    throw new CataloguedError(
      'database-newer',
      `the schema was published by a newer catalogued (schema ${from.schema_version}, this one knows ${schema_version})`,
      { exitCode: exitCodes.data, hint: 'install that version again' },
    );
}

/** Returns whether the published mirror is of this installation. */
export function isOf(from: Published, db: Database): boolean {
  return db.prepare<[], string>('SELECT pair_id FROM _mirror').pluck().get() === from.pair_id;
}
