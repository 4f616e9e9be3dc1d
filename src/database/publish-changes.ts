import { CataloguedError } from '../errors.ts';
import type { RowPage, RowPages } from '../mirror/rows/pages.ts';
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
/** A follower that was away for longer, or has missed more, starts again. */
const keptDays = 7;
const keptKeys = 1_000_000;

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
