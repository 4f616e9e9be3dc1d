import { isShown } from '../../feed/capture.store.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { ofDevelopment } from '../../kernel/sqlite/development.ts';
import { mirrorFile, readableColumns } from '../../mirror/sql/files.ts';
import { quoted, type Statements } from './connect.ts';

/** A published state. */
export interface PublishedState {
  /** Origin that the states of followers belong to, unless they belong to a former one. */
  readonly origin: string;
  readonly state: number;
}

/** The mirror that is published. */
export interface PublishedSource {
  readonly pair_id: string;
  readonly schema_version: number;
  readonly contract_version: number;
  /** Origin and newest number of the mirror's own rows (`_row`). */
  readonly source_origin: string;
  readonly source_number: number;
}

/** Identifies the published state and its mirror. */
export interface Published extends PublishedState, PublishedSource {
  /** State up to which deletions are no longer known. */
  readonly floor: number;
  /** Epoch milliseconds: the published data are as the mirror was then, or newer. */
  readonly published_at: number;
  /** Application id of the mirror's file. */
  readonly application_id: number;
}

/** Returns what is published; null: nothing is yet. A schema that others use is refused (78). */
export async function publishedIn(statements: Statements): Promise<Published | null> {
  const { query } = statements;
  const [found = { ours: false, theirs: null }] = await query<{ ours: boolean; theirs: string | null }>(
    `SELECT to_regclass('_published') IS NOT NULL AS ours,
       (SELECT min(relname) FROM pg_class WHERE relnamespace = to_regnamespace(current_schema())
         AND relkind IN ('r', 'v', 'm', 'p', 'f') AND relname NOT LIKE '\\_%') AS theirs`,
  );
  if (found.ours) {
    const [published = null] = await query<Published>('SELECT * FROM _published');
    // A column that development versions did not have; asked again only then, as this is asked with every publication.
    if (published?.application_id === undefined) await refuseDevelopment(statements);
    else if (published.application_id !== mirrorFile.application_id) throw await developmentSchema(statements);
    return published;
  }
  if (found.theirs === null) return null;
  throw new CataloguedError('database-foreign', `the schema has a table that is not ours: ${found.theirs}`, {
    exitCode: exitCodes.configuration,
    hint: 'name another schema in database.schema: it is made where there is none',
  });
}

/**
 * Refuses a schema that a development version published into (78). What is set aside no longer names the API key, so that
 * another schema can use it.
 */
export async function refuseDevelopment(statements: Statements): Promise<void> {
  const [found] = await statements.query(
    `SELECT 1 FROM pg_class c WHERE c.oid = to_regclass('_published')
       AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'application_id')`,
  );
  if (found !== undefined) throw await developmentSchema(statements);
}

async function developmentSchema({ query }: Statements): Promise<CataloguedError> {
  const [{ schema } = { schema: '' }] = await query<{ schema: string }>('SELECT current_schema() AS schema');
  const aside = `${schema}_development`;
  const sql = `ALTER SCHEMA "${schema}" RENAME TO "${aside}"; DROP TABLE IF EXISTS "${aside}"._leader`;
  return new CataloguedError('database-development', `the schema ${schema} cannot be used: ${ofDevelopment}`, {
    exitCode: exitCodes.configuration,
    hint: `stop every instance, set it aside: psql -c '${sql}', and start again, which publishes the whole mirror. Lost are deliveries that only this schema has, the shared callback addresses and the feed numbers of followers`,
  });
}

/**
 * Begins an origin for whoever publishes from now on, and notes where the former one ends: followers of it go on, but for
 * those that know states which the database has lost.
 */
export async function beginOrigin(
  { query }: Statements,
  { origin, state }: PublishedState,
  newOrigin: () => string,
): Promise<string> {
  await query(
    'INSERT INTO _origin (origin, until) VALUES ($1, $2) ON CONFLICT (origin) DO UPDATE SET until = excluded.until',
    [origin, state],
  );
  return newOrigin();
}

/** Makes the schema where there is none. */
export async function makeSchema({ query }: Statements, name: string): Promise<void> {
  const [found] = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name]);
  if (found === undefined) await query(`CREATE SCHEMA "${name}"`);
}

/** For the pages of a shop, and for files on other hosts. */
export const rolesOf = (schema: string) => [`${schema}_reader`, `${schema}_follower`];

/** A right that one of the two roles lacks, as a statement that gives it. */
export interface MissingRight {
  readonly role: string;
  /** The relation; null: the schema itself. */
  readonly on: string | null;
  readonly sql: string;
}

/**
 * Returns what the two roles lack, where they exist: `<schema>_reader` reads what is declared in src/mirror/contract and nothing else,
 * `<schema>_follower` the rows that a file of its own is made of.
 */
export async function missingRights({ query }: Statements, schema: string): Promise<readonly MissingRight[]> {
  const [reader = '', follower = ''] = rolesOf(schema);
  const standing = await query<{ role: string; on: string | null; may: boolean }>(
    `SELECT r.rolname AS role, NULL AS on, has_schema_privilege(r.rolname, n.oid, 'USAGE') AS may, '' AS kind
     FROM pg_roles r, pg_namespace n WHERE r.rolname IN ($1, $2) AND n.nspname = $3
     UNION ALL
     SELECT r.rolname, c.relname, has_table_privilege(r.rolname, c.oid, 'SELECT'), c.relkind::text
     FROM pg_roles r, pg_class c WHERE r.rolname IN ($1, $2) AND c.relnamespace = to_regnamespace(quote_ident($3)) AND c.relkind IN ('r', 'v')`,
    [reader, follower, schema],
  );
  const wanted = (role: string, on: string | null) =>
    on === null || (role === reader ? readableColumns.has(on) : isShown(on) || followed.has(on));
  return standing
    .filter(({ role, on, may }) => !may && wanted(role, on))
    .map(({ role, on }) => ({ role, on, sql: grantOf(schema, role, on) }));
}

function grantOf(schema: string, role: string, on: string | null): string {
  const what = on === null ? `USAGE ON SCHEMA ${quoted(schema)}` : `SELECT ON ${quoted(schema)}.${quoted(on)}`;
  return `GRANT ${what} TO ${quoted(role)}`;
}

/** Gives the two roles what they lack, where they exist. */
export async function grant(statements: Statements, schema: string): Promise<void> {
  const missing = await missingRights(statements, schema);
  if (missing.length > 0) await statements.query(missing.map(({ sql }) => sql).join('; '));
}

const followed = new Set(['_published', '_row', '_origin']);
