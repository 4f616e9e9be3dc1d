import { newestNumber } from '../mirror/rows/capture.ts';
import type { Cell } from '../mirror/rows/pages.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import type { Database } from '../sqlite/database-file.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import type { Statements } from './connect.ts';
import { grant, incoming, makeIncoming, makeSchema, type Published, putInPlace } from './schema.ts';
import { putRows, shapesOf, type TableShape } from './tables.ts';

export interface WholeOptions {
  readonly schema: string;
  readonly mirror_path: string;
  readonly now: () => number;
  readonly newOrigin: () => string;
}

/** Rows sent at a time. */
const batchRows = 1000;

/** What is published now, and how many rows were written. */
export type Done = Published & { readonly rows: number };

/** Publishes everything, with tables and views of this version: what stood there is read until the commit. */
export async function publishWhole(
  statements: Statements,
  { schema, mirror_path, now, newOrigin }: WholeOptions,
): Promise<Done> {
  await makeSchema(statements, schema);
  // Before it is read: all is as the mirror was then, or newer.
  const published_at = now();
  const copy = openReadOnly(mirror_path);
  try {
    // One state, whatever the daemon writes meanwhile.
    copy.exec('BEGIN');
    const source = sourceIn(copy);
    const shapes = shapesOf(copy);
    await makeIncoming(statements, shapes);
    let rows = 0;
    for (const shape of shapes) rows += await copyTable(statements, copy, shape);
    await putInPlace(statements, shapes);
    const { application_id } = mirrorFile;
    const published = { origin: newOrigin(), state: 1, floor: 1, ...source, published_at, application_id };
    await statements.query('DELETE FROM _gone; DELETE FROM _published');
    await statements.query(
      `INSERT INTO _published (${Object.keys(published).join(', ')}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      Object.values(published),
    );
    await grant(statements, schema, shapes);
    await statements.query('SELECT pg_notify($1, $2)', [schema, '1']);
    return { ...published, rows };
  } finally {
    copy.close();
  }
}

function sourceIn(copy: Database) {
  const found = copy
    .prepare<
      [],
      Pick<Published, 'pair_id' | 'schema_version' | 'contract_version' | 'source_origin' | 'source_number'>
    >(
      // Where no rows are noted yet, their numbers will be of another origin.
      `SELECT pair_id, schema_version, contract_version, coalesce((SELECT origin FROM _row_feed), '') AS source_origin,
         ${newestNumber} AS source_number
       FROM _mirror`,
    )
    .get();
  if (found === undefined) throw new Error('the mirror is of nobody yet');
  return found;
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
    if (batch.length === batchRows) await send();
  }
  await send();
  return rows;
}
