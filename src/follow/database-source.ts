import { connectPostgres, type Postgres, quoted, type Statements } from '../database/connect.ts';
import { isAway } from '../database/errors.ts';
import { type RowsFor, rowOf, rowsAfter, type StandingTable, tablesIn } from '../database/published-rows.ts';
import { type Published, publishedIn } from '../database/schema.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { Cell, RowPage } from '../mirror/rows/pages.ts';
import { mirrorFile, searchTriggers } from '../mirror/sql/files.ts';
import { openCopied } from '../sqlite/copied-file.ts';
import { openForWriting, schemaVersion } from '../sqlite/database-file.ts';
import { standsIn, tableWriter } from './followed-file.ts';
import { type RowSource, SourceAway } from './source.ts';

export interface DatabaseSourceOptions {
  /** `postgres://…`: of the server that is published into, or of a replica of it. */
  readonly from: string;
  readonly schema: string;
  readonly password: { reveal(): string } | null;
  /** For a storefront, or also for a daemon that may have to go on with the copy. */
  readonly rows?: RowsFor;
  /** Breaks off what is under way, with its reason. */
  readonly signal?: AbortSignal;
}

export interface DatabaseSource extends RowSource, AsyncDisposable {
  /** Null: nothing is yet. */
  published(): Promise<Published | null>;
}

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
  return {
    published: () => asked(postgres.transaction(publishedIn)),
    after: (question) =>
      snapshot((statements, published) => rowsAfter(statements, published, { question, wanted: rows })),
    copy: (path) =>
      snapshot(async (statements, published) => {
        if (published.schema_version !== schemaVersion(mirrorFile)) throw anotherVersion(published.schema_version);
        await copyInto(path, statements, { published, tables: await tablesIn(statements, rows) });
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

interface Copied {
  readonly published: Published;
  readonly tables: readonly StandingTable[];
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
