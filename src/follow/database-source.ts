import { connectPostgres, type Postgres, quoted, type Statements } from '../database/connect.ts';
import { isAway } from '../database/errors.ts';
import { type Published, publishedIn } from '../database/schema.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { isPublished, isShown } from '../mirror/rows/capture.ts';
import type { Cell, RowPage, TableRows } from '../mirror/rows/pages.ts';
import { mirrorFile, searchTriggers } from '../mirror/sql/files.ts';
import { openCopied } from '../sqlite/copied-file.ts';
import { openForWriting, schemaVersion } from '../sqlite/database-file.ts';
import { standsIn, tableWriter } from './followed-file.ts';
import { type PublishedPage, type RowSource, SourceAway } from './source.ts';

export interface DatabaseSourceOptions {
  /** `postgres://…`: of the server that is published into, or of a replica of it. */
  readonly from: string;
  readonly schema: string;
  readonly password: { reveal(): string } | null;
  /** For a storefront, or also for a daemon that may have to go on with the copy. */
  readonly rows?: 'shown' | 'all';
  /** Breaks off what is under way, with its reason. */
  readonly signal?: AbortSignal;
}

export interface DatabaseSource extends RowSource, AsyncDisposable {
  /** Null: nothing is yet. */
  published(): Promise<Published | null>;
}

/** A new copy is no dearer than so many rows. */
const mostRows = 100_000;
/** Rows of a copy that are fetched at a time. */
const batchRows = 2000;

/** Follows what a daemon publishes into PostgreSQL. */
export async function databaseSource({
  from,
  schema,
  password,
  rows = 'shown',
  signal,
}: DatabaseSourceOptions): Promise<DatabaseSource> {
  const url = password === null ? from : withPassword(from, password.reveal());
  const postgres = await connectPostgres({ url, schema, connections: 1, ...(signal === undefined ? {} : { signal }) });
  const asked = async <Result>(reading: Promise<Result>) => {
    try {
      return await reading;
    } catch (error) {
      throw isAway(error) ? new SourceAway((error as Error).message) : error;
    }
  };
  const snapshot = <Result>(work: (statements: Statements, published: Published) => Promise<Result>) =>
    asked(readSnapshot(postgres, schema, work));
  const tables = async (statements: Statements, after: number | null) =>
    (await tablesIn(statements, after)).filter(({ table }) => wanted[rows](table));
  return {
    published: () => asked(postgres.transaction(publishedIn)),
    after: ({ origin, after }) =>
      snapshot(async (statements, { state, floor, published_at, schema_version, ...published }) => {
        // A lower state is of a restored database, or of a replica that is behind: its rows say nothing of ours.
        if (origin !== published.origin || after < floor || after > state) return 'begun-anew';
        const found = after === state ? [] : await rowsAfter(statements, await tables(statements, after), after);
        if (found === null) return 'begun-anew';
        const page = { origin, number: state, whole: true, schema_version, published_at, tables: found };
        return page satisfies PublishedPage;
      }),
    copy: (path) =>
      snapshot(async (statements, published) => {
        if (published.schema_version !== schemaVersion(mirrorFile)) throw anotherVersion(published.schema_version);
        await copyInto(path, statements, { published, tables: await tables(statements, null) });
        return published.published_at;
      }),
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
  };
}

/** Everything that is read is of one state. */
function readSnapshot<Result>(
  postgres: Postgres,
  schema: string,
  work: (statements: Statements, published: Published) => Promise<Result>,
): Promise<Result> {
  return postgres.transaction(async (statements) => {
    const published = await publishedIn(statements);
    if (published === null) throw nothingPublished(schema);
    return await work(statements, published);
  }, 'REPEATABLE READ READ ONLY');
}

interface Table extends Pick<TableRows, 'table' | 'columns' | 'key'> {
  readonly types: Readonly<Record<string, string>>;
}

const wanted = { shown: isShown, all: isPublished } as const;

/** The tables as they stand in the database: all, or those of which something has changed after a state. */
async function tablesIn({ query }: Statements, after: number | null): Promise<readonly Table[]> {
  return await query<Table>(
    `SELECT c.relname AS "table", json_agg(a.attname ORDER BY a.attnum) AS columns,
       json_object_agg(a.attname, format_type(a.atttypid, NULL)) AS types,
       (SELECT json_agg(k.attname ORDER BY p.nth) FROM unnest(i.indkey::int2[]) WITH ORDINALITY p (attnum, nth)
         JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = p.attnum) AS key
     FROM pg_class c
     JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind = 'r'
       AND ($1::bigint IS NULL OR c.relname IN (SELECT source FROM _row WHERE state > $1))
     GROUP BY c.oid, c.relname, i.indkey ORDER BY c.relname`,
    [after],
  );
}

const rowOf = ({ columns }: Table) => `json_build_array(${columns.map((column) => `t.${quoted(column)}`).join(', ')})`;

/** Returns what has changed after a state, each row as it is now; null: too much. */
async function rowsAfter(
  { query }: Statements,
  tables: readonly Table[],
  after: number,
): Promise<readonly TableRows[] | null> {
  const each = tables.map(
    (table) =>
      `SELECT '${table.table}' AS source, k.key, CASE WHEN t.${quoted(table.key[0] ?? '')} IS NOT NULL THEN ${rowOf(table)} END AS row
       FROM (SELECT DISTINCT key FROM _row, jsonb_array_elements(keys) AS key WHERE state > $1 AND source = '${table.table}') AS k
       LEFT JOIN ${quoted(table.table)} AS t ON ${sameKey(table)}`,
  );
  if (each.length === 0) return [];
  const rows = await query<{ source: string; key: Cell[]; row: Cell[] | null }>(
    `${each.join(' UNION ALL ')} LIMIT ${mostRows + 1}`,
    [after],
  );
  if (rows.length > mostRows) return null;
  const bySource = Map.groupBy(rows, ({ source }) => source);
  return tables.map(({ table, columns, key }) => {
    const of = bySource.get(table) ?? [];
    return {
      table,
      columns,
      key,
      rows: of.flatMap(({ row }) => (row === null ? [] : [row])),
      gone: of.flatMap((found) => (found.row === null ? [found.key] : [])),
    };
  });
}

/** Each value of a key is a text or a whole number. */
function sameKey({ key, types }: Table): string {
  return key
    .map((column, index) => `t.${quoted(column)} = (k.key ->> ${index})::${types[column] ?? 'text'}`)
    .join(' AND ');
}

interface Copied {
  readonly published: Published;
  readonly tables: readonly Table[];
}

/** Makes a mirror of all rows, which says how far it is as a daemon's own copy does. */
async function copyInto(
  path: string,
  statements: Statements,
  { published: { origin, state, schema_version }, tables }: Copied,
): Promise<void> {
  openForWriting(path, mirrorFile).close();
  const db = openCopied(path, searchTriggers);
  try {
    db.exec('BEGIN');
    for (const table of tables) {
      if (!standsIn(db, table)) throw anotherVersion(schema_version);
      const writer = tableWriter(db, { ...table, rows: [], gone: [] });
      await statements.query(
        `DECLARE copied NO SCROLL CURSOR FOR SELECT ${rowOf(table)} AS row FROM ${quoted(table.table)} AS t`,
      );
      for (;;) {
        const rows = await statements.query<{ row: Cell[] }>(`FETCH ${batchRows} FROM copied`);
        for (const { row } of rows) writer.put(row);
        if (rows.length < batchRows) break;
      }
      await statements.query('CLOSE copied');
    }
    db.prepare(
      "INSERT INTO _row_feed (row_feed_id, origin, floor, publish, schema_version) VALUES (1, ?, 0, 'shown', ?)",
    ).run(origin, schema_version);
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('_row', ?)").run(state);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

function withPassword(from: string, password: string): string {
  return from.replace(/^(postgres(?:ql)?:\/\/[^:@/]+)(?::[^@/]*)?@/, `$1:${encodeURIComponent(password)}@`);
}

function anotherVersion(schema_version: RowPage['schema_version']): CataloguedError {
  return new CataloguedError(
    'another-version',
    `the database was published by another version (schema ${schema_version}, this one knows ${schemaVersion(mirrorFile)})`,
    { exitCode: exitCodes.configuration, hint: 'use the same version on both hosts' },
  );
}

function nothingPublished(schema: string): CataloguedError {
  return new CataloguedError('nothing-published', `nothing is published in the schema ${schema}`, {
    exitCode: exitCodes.configuration,
    hint: 'name the schema with --schema; set database.url_file where the daemon runs',
  });
}
