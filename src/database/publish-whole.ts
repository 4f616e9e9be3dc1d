import { newestNumber } from '../mirror/rows/capture.ts';
import type { Cell } from '../mirror/rows/pages.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import type { Database } from '../sqlite/database-file.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import type { Statements } from './connect.ts';
import {
  brieflyWithin,
  type Layout,
  layoutOf,
  makeBase,
  makeIndexes,
  makeTables,
  noteMade,
  type Step,
} from './layout.ts';
import { grant, makeSchema, type Published, type PublishedSource } from './schema.ts';
import { mostNoted, putTable, sendRows, shapesOf, type TableShape } from './tables.ts';

export interface WholeOptions {
  readonly schema: string;
  readonly mirror_path: string;
  readonly now: () => number;
  readonly newOrigin: () => string;
}

/** Rows sent at a time. */
const batchRows = 1000;

/** Published state, and the number of rows that were written. */
export type Done = Published & {
  readonly rows: number;
  /** Set if all rows were compared, and not only those that are known to have changed. */
  readonly whole: boolean;
};

/** Published state, and steps left for transactions of their own; or the statements that must run so before it. */
export type PublicationTurn =
  | { readonly done: Done; readonly after: readonly Step[] }
  | { readonly done: null; readonly before: readonly string[] };

/**
 * Publishes everything, with tables and views of this version; or returns what has to be added first. Rows go into a table
 * that nobody else sees, and from there those that differ into the one that is read: no reader waits for that, and all see
 * what was published before until the commit. Followers of what stood there (`from`) go on; null: they begin anew.
 */
export async function publishWhole(
  statements: Statements,
  { schema, mirror_path, now, newOrigin }: WholeOptions,
  from: Published | null,
): Promise<PublicationTurn> {
  await makeSchema(statements, schema);
  await makeBase(statements);
  // Before it is read: all is as the mirror was then, or newer.
  const published_at = now();
  const copy = openReadOnly(mirror_path);
  try {
    // One state, even if the daemon writes meanwhile.
    copy.exec('BEGIN');
    const shapes = shapesOf(copy);
    const layout = await layoutOf(statements, shapes);
    if (layout.additions.length > 0) return { done: null, before: layout.additions };
    const state = from === null ? 1 : from.state + 1;
    await makeTables(statements, shapes, layout);
    let rows = 0;
    for (const shape of shapes) rows += await copyTable(statements, copy, { shape, layout, state });
    await makeIndexes(statements, layout);
    const origin = from?.origin ?? newOrigin();
    const { floor } = await noted(statements, from, { state, rows });
    const { application_id } = mirrorFile;
    const published = { origin, state, floor, ...sourceIn(copy), published_at, application_id };
    await putPublished(statements, published);
    await noteMade(statements, shapes, layout);
    if (layout.first.length > 0) await statements.query(layout.first.join('; '));
    await brieflyWithin(statements, layout.last);
    await grant(statements, schema);
    await statements.query('SELECT pg_notify($1, $2)', [schema, String(state)]);
    return { done: { ...published, rows, whole: true }, after: layout.after };
  } finally {
    copy.close();
  }
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

interface Copied {
  readonly shape: TableShape;
  readonly layout: Layout;
  readonly state: number;
}

/** The rows of one table, as the mirror has them, for nobody but this transaction. */
const staged = '_staged';

async function copyTable(statements: Statements, copy: Database, { shape, layout, state }: Copied): Promise<number> {
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
  for (const row of copy.prepare<[], Cell[]>(`SELECT ${names} FROM ${shape.name}`).raw().iterate()) {
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
