import { newestChange, newestNumber } from '../../feed/capture.store.ts';
import { type Cell, RowPages } from '../../feed/pages.store.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import type { Database } from '../../kernel/sqlite/database-file.ts';
import { openReadOnly } from '../../kernel/sqlite/read-only.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { type Postgres, quoted, type Statements } from './connect.ts';
import {
  briefly,
  brieflyWithin,
  inMoments,
  isStanding,
  type Layout,
  layoutOf,
  makeBase,
  makeIndexes,
  makeTables,
  noteMade,
  type Step,
  takeStep,
} from './layout.ts';
import {
  beginOrigin,
  grant,
  makeSchema,
  type Published,
  type PublishedSource,
  type PublishedState,
  publishedIn,
} from './schema.ts';
import { dropRows, mostNoted, putRows, putTable, sendRows, shapesOf, type TableShape } from './tables.ts';

export interface PublicationOptions {
  readonly postgres: Postgres;
  readonly schema: string;
  /** The mirror's rows are captured (`captureRows`). */
  readonly mirror_path: string;
  readonly now: () => number;
  readonly newOrigin: () => string;
  /** Throws in the transaction where somebody else may publish by now; absent: nobody else does. */
  readonly fence?: (statements: Statements) => Promise<void>;
  /** State that the mirror was equal to before it recorded any row; absent or null if unknown. */
  readonly begun?: PublishedState | null;
}

/** Published state, and the number of rows that were written. */
export type Done = Published & {
  readonly rows: number;
  /** Set if all rows were compared, and not only those that are known to have changed. */
  readonly whole: boolean;
};

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

/** Published state, and steps left for transactions of their own; or the statements that must run so before it. */
type Turn =
  | { readonly done: Done; readonly after: readonly Step[] }
  | { readonly done: null; readonly before: readonly string[] };

/** Rows read, and sent, at a time. */
const batchRows = 1000;
/** A follower that was away for longer, or has missed more, starts again. */
const keptDays = 7;
const keptKeys = 1_000_000;
/** Milliseconds between two counts of all rows. A person, or a restored table, changes what no publication would notice. */
const countEveryMs = 24 * 3_600_000;
/** In milliseconds: what whoever was killed, or stands still, in the middle of a publication holds is free after it. */
const killedMs = 1000;
const standstillMs = 4000;
/** The rows of one table, as the mirror has them, for nobody but one transaction. */
const staged = '_staged';

/** Publishes a mirror's states. Its methods throw what PostgreSQL says, and then nothing was published. */
export class Publication implements Disposable {
  readonly #options: PublicationOptions;
  readonly #db: Database;
  readonly #pages: RowPages;
  readonly #newest;
  #shapes: readonly TableShape[];
  /** The last state that this process published; null: none. */
  #last: Published | null = null;
  #counted_at = Number.NEGATIVE_INFINITY;

  constructor(options: PublicationOptions) {
    this.#options = options;
    this.#db = openReadOnly(options.mirror_path);
    this.#pages = new RowPages(this.#db);
    this.#newest = this.#db.prepare<[], number>(`SELECT ${newestNumber}`).pluck();
    this.#shapes = shapesOf(this.#db);
  }

  /** Publishes what has changed since the last time, or everything where that is not known. */
  async publish(): Promise<Finished> {
    // Before it is read: all is as the mirror was then, or newer.
    const at = this.#options.now();
    // The first time because the publisher before may have been another version, or was killed before the last step.
    const counts = this.#last === null || Math.abs(at - this.#counted_at) >= countEveryMs;
    let repaired: Finished['repaired'] = {};
    const done = await this.#inOneState(async (statements) => {
      const found = await publishedIn(statements);
      if (found === null) return await this.#publishWhole(statements, null, at);
      this.#refuseOthers(found);
      const from = this.#isOurs(found) ? found : await this.#goingOn(statements, found);
      const layout = counts ? await layoutOf(statements, this.#shapes) : null;
      const stands = layout === null || isStanding(layout);
      const changed = stands ? await this.#publishChanges(statements, from, at) : null;
      if (changed === null) return await this.#publishWhole(statements, from, at);
      if (counts) repaired = await this.#miscounted(statements);
      if (Object.keys(repaired).length > 0) return await this.#publishWhole(statements, changed, at);
      return { done: changed, after: layout?.after ?? [] };
    });
    this.#last = done;
    if (counts) this.#counted_at = at;
    return { ...done, repaired };
  }

  /** Publishes everything. `replace`: also where the schema holds the mirror of another installation. */
  publishAll({ replace }: { readonly replace: boolean }): Promise<Done> {
    const at = this.#options.now();
    return this.#inOneState(async (statements) => {
      const found = await publishedIn(statements);
      if (found !== null && !replace) this.#refuseOthers(found);
      if (found === null || !this.#isOf(found)) return await this.#publishWhole(statements, null, at);
      const origin = await beginOrigin(statements, found, this.#options.newOrigin);
      return await this.#publishWhole(statements, { ...found, origin }, at);
    });
  }

  /** Returns whether anything has changed since the last publication, as far as this process knows. */
  isBehind(): boolean {
    return this.#newest.get() !== this.#last?.source_number;
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  /** Reads one state of the mirror, however long it takes: a daemon that writes faster would never be caught up with. */
  async #inOneState(work: (statements: Statements) => Promise<Turn>): Promise<Done & { readonly change: number }> {
    this.#db.exec('BEGIN');
    try {
      const change = this.#db.prepare<[], number>(`SELECT ${newestChange}`).pluck().get() ?? 0;
      return { ...(await this.#publishing(work)), change };
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  /**
   * Publishes in one transaction, one publication after another. What readers would wait for is done in transactions of its
   * own, before or afterwards, each in a moment.
   */
  async #publishing(work: (statements: Statements) => Promise<Turn>): Promise<Done> {
    const { schema, fence } = this.#options;
    for (;;) {
      const turn = await this.#inTurn(async (statements) => {
        const taken = await work(statements);
        // Last: a long publication must not delay the renewal of the lease.
        await fence?.(statements);
        return taken;
      });
      if (turn.done !== null) {
        for (const step of turn.after) await this.#inMoments((each, patience_ms) => takeStep(each, step, patience_ms));
        if (turn.after.length > 0) await this.#inTurn((each) => grant(each, schema));
        return turn.done;
      }
      for (const sql of turn.before) await this.#inMoments((each, patience_ms) => briefly(each, [sql], patience_ms));
    }
  }

  #inTurn<Result>(does: (statements: Statements) => Promise<Result>): Promise<Result> {
    const { postgres, schema } = this.#options;
    return postgres.transaction(async (statements) => {
      await statements.query(`SET LOCAL idle_in_transaction_session_timeout TO ${standstillMs}`);
      // Known of Linux alone; elsewhere a killed one's statement ends first.
      await statements.query(
        `SELECT set_config('client_connection_check_interval', '${killedMs}', true) WHERE version() ~ 'linux'`,
      );
      await statements.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`catalogued ${schema}`]);
      return await does(statements);
    });
  }

  #inMoments(does: (statements: Statements, patience_ms: number) => Promise<void>): Promise<void> {
    const { postgres, fence } = this.#options;
    return inMoments(
      (patience_ms) =>
        this.#inTurn(async (statements) => {
          await fence?.(statements);
          // Readers wait from the last statement to the end of the commit: no disk and no other server makes it longer. What
          // a crash takes away is done with the next publication.
          await statements.query('SET LOCAL synchronous_commit TO off');
          await does(statements, patience_ms);
        }),
      (seconds) => postgres.query('SELECT pg_sleep($1)', [seconds]),
    );
  }

  /**
   * Returns whether this process published the current state. Otherwise another one did before its first, or the database has
   * lost the last ones: it was restored, or is a replica that was promoted without them.
   */
  #isOurs(found: Published): boolean {
    return found.origin === this.#last?.origin && found.state >= this.#last.state;
  }

  /** Goes on under an origin of its own, from the state that the mirror is known to have begun with. */
  async #goingOn(statements: Statements, found: Published): Promise<Published> {
    const { begun, newOrigin } = this.#options;
    const isBegun = found.origin === begun?.origin && found.state === begun.state;
    const source = isBegun
      ? this.#db.prepare<[], object>('SELECT origin AS source_origin, floor AS source_number FROM _row_feed').get()
      : undefined;
    return { ...found, ...source, origin: await beginOrigin(statements, found, newOrigin) };
  }

  /** Returns whether the published mirror is of this installation. */
  #isOf({ pair_id }: Published): boolean {
    return this.#db.prepare<[], string>('SELECT pair_id FROM _mirror').pluck().get() === pair_id;
  }

  /** Two mirrors in one schema would take turns; an older program would publish what newer ones know better. */
  #refuseOthers(from: Published): void {
    const schema_version = Number(this.#db.pragma('user_version', { simple: true }));
    if (!this.#isOf(from))
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

  /** Publishes what has changed since as one state; null: that is not known any more. */
  async #publishChanges(statements: Statements, from: Published, published_at: number): Promise<Done | null> {
    const put = await this.#putPages(statements, from);
    if (put === null) return null;
    const { source_number, rows } = put;
    const state = rows > 0 ? from.state + 1 : from.state;
    const floor = rows > 0 ? await forget(statements, state, from.floor) : from.floor;
    const published = { ...from, state, floor, source_number, published_at };
    await putPublished(statements, published);
    if (rows > 0) await statements.query('SELECT pg_notify($1, $2)', [this.#options.schema, String(state)]);
    return { ...published, rows, whole: false };
  }

  async #putPages(statements: Statements, { source_origin: origin, source_number, ...from }: Published) {
    let after = source_number;
    let rows = 0;
    for (;;) {
      const page = this.#pages.after({ origin, after, limit: batchRows }, 0);
      if (page === 'begun-anew' || page.schema_version !== from.schema_version) return null;
      for (const table of page.tables) {
        const shape = this.#shapes.find(({ name }) => name === table.table);
        // Recorded because there are standby instances: published with the next whole publication.
        if (shape === undefined) continue;
        if (table.gone.length > 0) rows += await dropRows(statements, shape, table.gone, from.state + 1);
        if (table.rows.length > 0) rows += await putRows(statements, shape, table.rows, from.state + 1);
      }
      after = page.number;
      if (page.whole) return { source_number: after, rows };
    }
  }

  /**
   * Publishes everything, with tables and views of this version; or returns what has to be added first. Rows go into a table
   * that nobody else sees, and from there those that differ into the one that is read: no reader waits for that, and all see
   * what was published before until the commit. Followers of what stood there (`from`) go on; null: they begin anew.
   */
  async #publishWhole(statements: Statements, from: Published | null, published_at: number): Promise<Turn> {
    const { schema, newOrigin } = this.#options;
    await makeSchema(statements, schema);
    await makeBase(statements);
    const shapes = shapesOf(this.#db);
    this.#shapes = shapes;
    const layout = await layoutOf(statements, shapes);
    if (layout.additions.length > 0) return { done: null, before: layout.additions };
    const state = from === null ? 1 : from.state + 1;
    await makeTables(statements, shapes, layout);
    let rows = 0;
    for (const shape of shapes) rows += await this.#copyTable(statements, { shape, layout, state });
    await makeIndexes(statements, layout);
    const origin = from?.origin ?? newOrigin();
    const { floor } = await noted(statements, from, { state, rows });
    const { application_id } = mirrorFile;
    const published = { origin, state, floor, ...sourceIn(this.#db), published_at, application_id };
    await putPublished(statements, published);
    await noteMade(statements, shapes, layout);
    if (layout.first.length > 0) await statements.query(layout.first.join('; '));
    await brieflyWithin(statements, layout.last);
    await grant(statements, schema);
    await statements.query('SELECT pg_notify($1, $2)', [schema, String(state)]);
    return { done: { ...published, rows, whole: true }, after: layout.after };
  }

  async #copyTable(statements: Statements, { shape, layout, state }: Copied): Promise<number> {
    const names = shape.columns.map(({ name }) => name).join(', ');
    const own = layout.made.get(shape.name);
    if (own === undefined)
      await statements.query(
        `CREATE TEMPORARY TABLE ${staged} ON COMMIT DROP AS SELECT ${names} FROM ${shape.name} WITH NO DATA`,
      );
    let rows = 0;
    let batch: Cell[][] = [];
    const send = async () => {
      if (batch.length > 0) await sendRows(statements, shape, batch, own ?? staged);
      rows += batch.length;
      batch = [];
    };
    for (const row of this.#db.prepare<[], Cell[]>(`SELECT ${names} FROM ${shape.name}`).raw().iterate()) {
      batch.push(row);
      if (batch.length === batchRows) await send();
    }
    await send();
    if (own !== undefined) return rows;
    await statements.query(`ANALYZE ${staged}`);
    const changed = await putTable(statements, shape, staged, state);
    await statements.query(`DROP TABLE ${staged}`);
    return changed;
  }

  /** Returns the tables that have not as many rows as the mirror's, of the same state. */
  async #miscounted({ query }: Statements) {
    const found: Record<string, RowCounts> = {};
    for (const { name } of this.#shapes) {
      const [{ database } = { database: 0 }] = await query<{ database: number }>(
        `SELECT count(*) AS database FROM ${quoted(name)}`,
      );
      const mirror = this.#db.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get() ?? 0;
      if (mirror !== database) found[name] = { mirror, database };
    }
    return found;
  }
}

interface Copied {
  readonly shape: TableShape;
  readonly layout: Layout;
  readonly state: number;
}

function sourceIn(copy: Database) {
  const found = copy
    .prepare<[], PublishedSource>(
      // If no rows are recorded yet, their numbers will have another origin.
      `SELECT pair_id, schema_version, contract_version, coalesce((SELECT origin FROM _row_feed), '') AS source_origin,
         ${newestNumber} AS source_number
       FROM _mirror`,
    )
    .get();
  if (found === undefined) throw new Error('the mirror is of nobody yet');
  return found;
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

/** Forgets what followers could have gone on with where more has changed than is noted. */
async function noted(
  { query }: Statements,
  from: Published | null,
  { state, rows }: { readonly state: number; readonly rows: number },
): Promise<{ floor: number }> {
  if (from !== null && rows <= mostNoted) return from;
  await query('DELETE FROM _row; DELETE FROM _origin');
  return { floor: state };
}

async function putPublished({ query }: Statements, published: Published): Promise<void> {
  const names = Object.keys(published);
  await query(
    `INSERT INTO _published (${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})
     ON CONFLICT (published_id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    Object.values(published),
  );
}
