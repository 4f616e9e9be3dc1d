import { CataloguedError, exitCodes } from '../errors.ts';
import { newestNumber } from '../mirror/rows/capture.ts';
import { type Cell, type RowPage, type RowPages, rowPages } from '../mirror/rows/pages.ts';
import type { Database } from '../sqlite/database-file.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import type { Postgres, Statements } from './connect.ts';
import { grant, incoming, makeIncoming, makeSchema, type Published, publishedIn, putInPlace } from './schema.ts';
import { dropRows, putRows, shapesOf, type TableShape } from './tables.ts';

export interface PublicationOptions {
  readonly postgres: Postgres;
  readonly schema: string;
  /** The mirror; its rows are captured (`captureRows`). */
  readonly mirror_path: string;
  readonly now: () => number;
  readonly newOrigin: () => string;
  /** Throws in the transaction where somebody else may publish by now; absent: nobody else does. */
  readonly fence?: (statements: Statements) => Promise<void>;
}

/** Publishes a mirror's states. Its methods throw what PostgreSQL says, and then nothing was published. */
export interface Publication extends Disposable {
  /** Publishes what has changed since the last time, or everything where that is not known; returns how many rows. */
  publish(): Promise<Published & { readonly rows: number }>;
  /** Whether anything has changed since, as far as this process knows. */
  isBehind(): boolean;
}

/** Rows read, and sent, at a time. */
const pageRows = 1000;
/** A follower that was away for longer begins anew. */
const keptMs = 7 * 86_400_000;

export function publicationOf(options: PublicationOptions): Publication {
  const { postgres, schema, mirror_path, now, newOrigin, fence } = options;
  const db = openReadOnly(mirror_path);
  const pages = rowPages(db);
  let shapes = shapesOf(db);
  let last: Published | null = null;

  async function put(statements: Statements, { tables }: RowPage, state: number): Promise<number> {
    let rows = 0;
    for (const table of tables) {
      const shape = shapes.find(({ name }) => name === table.table);
      // What only daemons read of each other.
      if (shape === undefined) continue;
      await dropRows(statements, shape, table.gone);
      await putRows(statements, shape, table.rows, { state });
      const positions = table.key.map((column) => table.columns.indexOf(column));
      const keys = table.rows.map((row) => positions.map((position) => row[position]));
      await noteGone(statements, table.table, { gone: table.gone, back: keys, state, at: now() });
      rows += table.rows.length + table.gone.length;
    }
    return rows;
  }

  /** Returns null where the rows since then are not known any more. */
  async function publishPages(statements: Statements, from: Published) {
    const state = from.state + 1;
    let number = from.source_number;
    let rows = 0;
    for (;;) {
      const page = pageAfter(pages, from.source_origin, number);
      if (page === null || page.schema_version !== from.schema_version) return null;
      rows += await put(statements, page, state);
      number = page.number;
      if (page.whole) return { number, rows, state: rows > 0 ? state : from.state };
    }
  }

  async function publishChanges(statements: Statements, from: Published) {
    // Before it is read: all is as the mirror was then, or newer.
    const published_at = now();
    const done = await publishPages(statements, from);
    if (done === null) return null;
    const floor = await forget(statements, from.floor, published_at);
    const next = { ...from, state: done.state, floor, source_number: done.number, published_at };
    await statements.query('UPDATE _published SET state = $1, floor = $2, source_number = $3, published_at = $4', [
      next.state,
      floor,
      done.number,
      published_at,
    ]);
    if (done.rows > 0) await statements.query('SELECT pg_notify($1, $2)', [schema, String(next.state)]);
    return { ...next, rows: done.rows };
  }

  async function publishWhole(statements: Statements) {
    await makeSchema(statements, schema);
    const published_at = now();
    // A state of its own, whatever the daemon writes meanwhile.
    const copy = openReadOnly(mirror_path);
    try {
      copy.exec('BEGIN');
      const origin = copy.prepare<[], string>('SELECT origin FROM _row_feed').pluck().get();
      const source_number = copy.prepare<[], number>(`SELECT ${newestNumber}`).pluck().get() ?? 0;
      const itself = copy
        .prepare<[], Pick<Published, 'pair_id' | 'schema_version' | 'contract_version'>>(
          'SELECT pair_id, schema_version, contract_version FROM _mirror',
        )
        .get();
      if (origin === undefined || itself === undefined) throw new Error('the mirror notes no rows');
      shapes = shapesOf(copy);
      await makeIncoming(statements, shapes);
      let rows = 0;
      for (const shape of shapes) rows += await copyTable(statements, copy, shape);
      await putInPlace(statements, shapes);
      const state = {
        origin: newOrigin(),
        state: 1,
        floor: 1,
        ...itself,
        source_origin: origin,
        source_number,
        published_at,
      };
      await statements.query(`DELETE FROM _gone; DELETE FROM _published`);
      await statements.query(
        `INSERT INTO _published (${Object.keys(state).join(', ')}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        Object.values(state),
      );
      await grant(statements, schema, shapes);
      await statements.query('SELECT pg_notify($1, $2)', [schema, '1']);
      return { ...state, rows };
    } finally {
      copy.close();
    }
  }

  return {
    publish: async () => {
      const own = db.prepare<[], string>('SELECT pair_id FROM _mirror').pluck().get();
      const done = await postgres.transaction(async (statements) => {
        await statements.query('SELECT pg_advisory_xact_lock(hashtext($1))', [`catalogued ${schema}`]);
        const from = await publishedIn(statements, 'FOR UPDATE');
        refuseOthers(from, own, db);
        await fence?.(statements);
        return (from && (await publishChanges(statements, from))) ?? (await publishWhole(statements));
      });
      last = done;
      return done;
    },
    isBehind: () =>
      last === null || db.prepare<[], number>(`SELECT ${newestNumber}`).pluck().get() !== last.source_number,
    [Symbol.dispose]: () => void db.close(),
  };
}

async function copyTable(statements: Statements, copy: Database, shape: TableShape): Promise<number> {
  const into = incoming(shape.name);
  const names = shape.columns.map(({ name }) => name).join(', ');
  let rows = 0;
  let batch: Cell[][] = [];
  const send = async () => {
    await putRows(statements, shape, batch, { state: 1, into });
    rows += batch.length;
    batch = [];
  };
  for (const row of copy.prepare<[], Cell[]>(`SELECT ${names} FROM ${shape.name}`).raw().iterate()) {
    batch.push(row);
    if (batch.length === pageRows) await send();
  }
  await send();
  return rows;
}

function pageAfter(pages: RowPages, origin: string, after: number): RowPage | null {
  try {
    return pages.after({ origin, after, limit: pageRows });
  } catch (error) {
    if (error instanceof CataloguedError && error.code === 'rows-begun-anew') return null;
    throw error;
  }
}

interface Gone {
  readonly gone: readonly (readonly unknown[])[];
  /** Keys that stand again. */
  readonly back: readonly (readonly unknown[])[];
  readonly state: number;
  readonly at: number;
}

/** A key is of a row, or of one that is gone. */
async function noteGone({ query }: Statements, source: string, { gone, back, state, at }: Gone): Promise<void> {
  const texts = (keys: Gone['gone']) => keys.map((key) => JSON.stringify(key));
  if (back.length > 0)
    await query('DELETE FROM _gone WHERE source = $1 AND key = ANY ($2::text[])', [source, texts(back)]);
  if (gone.length > 0)
    await query(
      `INSERT INTO _gone (source, key, state, at) SELECT $1, key, $3, $4 FROM unnest($2::text[]) AS key
       ON CONFLICT (source, key) DO UPDATE SET state = excluded.state, at = excluded.at`,
      [source, texts(gone), state, at],
    );
}

/** Returns the new floor. */
async function forget({ query }: Statements, floor: number, at: number): Promise<number> {
  const [found] = await query<{ floor: number | null }>(
    'WITH old AS (DELETE FROM _gone WHERE at < $1 RETURNING state) SELECT max(state) AS floor FROM old',
    [at - keptMs],
  );
  return Math.max(floor, found?.floor ?? 0);
}

/** Two mirrors in one schema would take turns; an older program would publish what newer ones know better. */
function refuseOthers(from: Published | null, pair_id: string | undefined, db: Database): void {
  if (from === null) return;
  const schema_version = Number(db.pragma('user_version', { simple: true }));
  if (from.pair_id !== pair_id)
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
