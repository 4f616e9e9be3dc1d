import { CataloguedError } from '../errors.ts';
import type { RowPage, RowPages, TableRows } from '../mirror/rows/pages.ts';
import type { Statements } from './connect.ts';
import type { Done } from './publish-whole.ts';
import type { Published } from './schema.ts';
import { dropRows, putRows, type TableShape } from './tables.ts';

export interface ChangesOptions {
  readonly schema: string;
  readonly shapes: readonly TableShape[];
  readonly pages: RowPages;
  /** Epoch milliseconds: all is as the mirror was then, or newer. */
  readonly at: number;
}

/** Rows read, and sent, at a time. */
const pageRows = 1000;
/** A follower that was away for longer begins anew. */
const keptMs = 7 * 86_400_000;

/** Publishes what has changed since as one state; null: that is not known any more. */
export async function publishChanges(
  statements: Statements,
  from: Published,
  options: ChangesOptions,
): Promise<Done | null> {
  const published_at = options.at;
  const done = await putPages(statements, from, options);
  if (done === null) return null;
  const { source_number, rows } = done;
  const state = rows > 0 ? from.state + 1 : from.state;
  const floor = await forget(statements, from.floor, published_at);
  await statements.query(
    'UPDATE _published SET state = $1, floor = $2, source_origin = $3, source_number = $4, published_at = $5',
    [state, floor, from.source_origin, source_number, published_at],
  );
  if (rows > 0) await statements.query('SELECT pg_notify($1, $2)', [options.schema, String(state)]);
  return { ...from, state, floor, source_number, published_at, rows };
}

async function putPages(statements: Statements, from: Published, { pages, shapes, at }: ChangesOptions) {
  let source_number = from.source_number;
  let rows = 0;
  for (;;) {
    const page = pageAfter(pages, from.source_origin, source_number);
    if (page === null || page.schema_version !== from.schema_version) return null;
    for (const table of page.tables) {
      const shape = shapes.find(({ name }) => name === table.table);
      // Noted since other instances stand by: published with the next whole.
      if (shape === undefined) continue;
      await dropRows(statements, shape, table.gone);
      await putRows(statements, shape, table.rows, { state: from.state + 1 });
      await noteGone(statements, table, { state: from.state + 1, at });
      rows += table.rows.length + table.gone.length;
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

/** A key is of a row, or of one that is gone. */
async function noteGone(
  { query }: Statements,
  { table, columns, key, rows, gone }: TableRows,
  { state, at }: { readonly state: number; readonly at: number },
): Promise<void> {
  const positions = key.map((column) => columns.indexOf(column));
  const back = rows.map((row) => JSON.stringify(positions.map((position) => row[position])));
  if (back.length > 0) await query('DELETE FROM _gone WHERE source = $1 AND key = ANY ($2::text[])', [table, back]);
  if (gone.length > 0)
    await query(
      `INSERT INTO _gone (source, key, state, at) SELECT $1, key, $3, $4 FROM unnest($2::text[]) AS key
       ON CONFLICT (source, key) DO UPDATE SET state = excluded.state, at = excluded.at`,
      [table, gone.map((values) => JSON.stringify(values)), state, at],
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
