import { isPublished, isShown, renumberRows } from '../../feed/capture.store.ts';
import type { BegunAnew, Cell, RowPage, RowQuestion, TableHead, TableRows } from '../../feed/pages.store.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { openCopied } from '../../kernel/sqlite/copied-file.ts';
import { openForWriting, schemaVersion } from '../../kernel/sqlite/database-file.ts';
import { mirrorFile, searchTriggers } from '../../mirror/sql/files.ts';
import { type Postgres, quoted, type Statements } from '../postgres/connect.ts';
import { isAway } from '../postgres/errors.ts';
import { type Published, publishedIn } from '../postgres/schema.ts';
import { rowOf, rowsIn } from '../postgres/tables.ts';
import { tableWriter } from './followed-file.ts';
import { type RowSource, SourceAway } from './source.ts';

/** A published table as it stands in the database. */
interface StandingTable extends TableHead {
  readonly types: Readonly<Record<string, string>>;
}

/** Tables that readers need, or also those that an instance needs in order to take over. */
const wanted = { shown: isShown, all: isPublished } as const;

/** A page of one state with more rows is dearer than a new copy. */
const mostRows = 100_000;

/** The rows that a daemon publishes into PostgreSQL: of the server itself, or of a replica of it. */
export class PublishedRows implements RowSource {
  readonly #postgres: Postgres;
  readonly #schema: string;
  readonly #wanted: keyof typeof wanted;

  constructor(postgres: Postgres, schema: string, which: keyof typeof wanted = 'shown') {
    this.#postgres = postgres;
    this.#schema = schema;
    this.#wanted = which;
  }

  /** Returns null where nothing is published yet. */
  published(): Promise<Published | null> {
    return this.#asked(this.#postgres.transaction(publishedIn));
  }

  /** Returns whole states, as many as the limit takes, and one at least. */
  after({ origin: asked, after, limit }: RowQuestion): Promise<RowPage | BegunAnew> {
    return this.#snapshot(async (statements, { origin, state, floor, schema_version, published_at }) => {
      const last = asked === origin ? state : await lastOf(statements, asked);
      if (last === null || after > last || after < floor) return 'begun-anew';
      const number = (await endOf(statements, after, limit)) ?? state;
      const tables = await rowsBetween(statements, await this.#tables(statements), [after, number]);
      if (tables === null) return 'begun-anew';
      return { origin, number, whole: number === state, schema_version, published_at, tables };
    });
  }

  /** Makes a mirror of all rows, which says how far it is as a daemon's own copy does. */
  copy(path: string): Promise<number> {
    return this.#snapshot(async (statements, { origin, state, schema_version, published_at }) => {
      if (schema_version !== schemaVersion(mirrorFile)) throw anotherVersion(schema_version);
      const tables = await this.#tables(statements);
      openForWriting(path, mirrorFile).close();
      const db = openCopied(path, searchTriggers);
      try {
        db.exec('BEGIN');
        for (const table of tables) {
          const writer = tableWriter(db, { table: table.table, columns: table.columns, key: table.key });
          if (writer === null) throw anotherVersion(schema_version);
          for await (const rows of rowsIn(statements, table)) for (const row of rows) writer.put(row);
        }
        renumberRows(db, origin, state);
        db.exec('COMMIT');
      } finally {
        db.close();
      }
      return published_at;
    });
  }

  /** Everything that is read is of one state. */
  #snapshot<Result>(work: (statements: Statements, published: Published) => Promise<Result>): Promise<Result> {
    const reading = this.#postgres.transaction(async (statements) => {
      const published = await publishedIn(statements);
      if (published === null) throw nothingPublished(this.#schema);
      return await work(statements, published);
    }, 'REPEATABLE READ READ ONLY');
    return this.#asked(reading);
  }

  async #asked<Result>(reading: Promise<Result>): Promise<Result> {
    try {
      return await reading;
    } catch (error) {
      throw isAway(error) ? new SourceAway((error as Error).message) : error;
    }
  }

  async #tables(statements: Statements): Promise<readonly StandingTable[]> {
    const tables = await tablesIn(statements);
    return tables.filter(({ table }) => wanted[this.#wanted](table));
  }
}

/** Returns the rows that changed after one state and up to another, as they are now; null: too many. */
async function rowsBetween(
  { query }: Statements,
  tables: readonly StandingTable[],
  states: readonly [after: number, number: number],
): Promise<readonly TableRows[] | null> {
  const sources = await query<{ source: string }>(
    'SELECT DISTINCT source FROM _row WHERE state > $1 AND state <= $2',
    states,
  );
  const changed = tables.filter(({ table }) => sources.some(({ source }) => source === table));
  if (changed.length === 0) return [];
  const each = changed.map(
    (table) =>
      `SELECT '${table.table}' AS source, k.key, CASE WHEN t.${quoted(table.key[0] ?? '')} IS NOT NULL THEN ${rowOf(table)} END AS row
       FROM (SELECT DISTINCT key FROM _row, jsonb_array_elements(keys) AS key
         WHERE state > $1 AND state <= $2 AND source = '${table.table}') AS k
       LEFT JOIN ${quoted(table.table)} AS t ON ${sameKey(table)}`,
  );
  const rows = await query<{ source: string; key: Cell[]; row: Cell[] | null }>(
    `${each.join(' UNION ALL ')} LIMIT ${mostRows + 1}`,
    states,
  );
  if (rows.length > mostRows) return null;
  const bySource = Map.groupBy(rows, ({ source }) => source);
  return changed.map(({ table, columns, key }) => {
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

/** Returns the last state of a former origin; null: it is not known. */
async function lastOf({ query }: Statements, origin: string): Promise<number | null> {
  const [found] = await query<{ until: number }>('SELECT until FROM _origin WHERE origin = $1', [origin]);
  return found?.until ?? null;
}

/** Returns the last state of a page that begins after a state. Null: nothing changed since. */
async function endOf({ query }: Statements, after: number, limit: number): Promise<number | null> {
  const [found] = await query<{ state: number | null }>(
    `SELECT coalesce(min(state) FILTER (WHERE keys >= $2), max(state)) AS state
     FROM (SELECT state, sum(n) OVER (ORDER BY state, row_id) AS keys
       FROM (SELECT state, row_id, n FROM _row WHERE state > $1 ORDER BY state, row_id LIMIT $2) AS next) AS counted`,
    [after, limit],
  );
  return found?.state ?? null;
}

/** Returns all tables of the schema, by name. */
function tablesIn({ query }: Statements): Promise<readonly StandingTable[]> {
  return query<StandingTable>(
    `SELECT c.relname AS "table", json_agg(a.attname ORDER BY a.attnum) AS columns,
       json_object_agg(a.attname, format_type(a.atttypid, NULL)) AS types,
       (SELECT json_agg(k.attname ORDER BY p.nth) FROM unnest(i.indkey::int2[]) WITH ORDINALITY p (attnum, nth)
         JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = p.attnum) AS key
     FROM pg_class c
     JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
     WHERE c.relnamespace = to_regnamespace(current_schema()) AND c.relkind = 'r'
     GROUP BY c.oid, c.relname, i.indkey ORDER BY c.relname`,
  );
}

/** Each value of a key is a text or a whole number. */
function sameKey({ key, types }: StandingTable): string {
  return key
    .map((column, index) => `t.${quoted(column)} = (k.key ->> ${index})::${types[column] ?? 'text'}`)
    .join(' AND ');
}

function anotherVersion(schema_version: number): CataloguedError {
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
