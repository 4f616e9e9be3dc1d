import { readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../errors.ts';
import { contractTables, isShown, ownTables } from '../mirror/rows/capture.ts';
import { packageRoot } from '../package.ts';
import { ofDevelopment } from '../sqlite/development.ts';
import type { Statements } from './connect.ts';
import { definitionOf, type TableShape } from './tables.ts';

/* What stands in the schema beside the rows: made anew as a whole with every whole publication. */

/** Which state of which mirror is published. */
export interface Published {
  /** Followers' numbers belong to it: another one, and they begin anew. */
  readonly origin: string;
  readonly state: number;
  /** Of what was deleted up to this state nothing is known any more. */
  readonly floor: number;
  readonly pair_id: string;
  readonly schema_version: number;
  readonly contract_version: number;
  /** How far the mirror's own numbers of rows were (`_row`). */
  readonly source_origin: string;
  readonly source_number: number;
  /** Epoch milliseconds: all is as the mirror was then, or newer. */
  readonly published_at: number;
  /** Of the mirror's file. */
  readonly application_id: number;
}

const text = (path: string) => readFileSync(new URL(`schema/${path}.sql`, packageRoot), 'utf8');

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
export async function refuseDevelopment({ query }: Statements): Promise<void> {
  const [found] = await query<{ schema: string }>(
    `SELECT current_schema() AS schema FROM pg_class c WHERE c.oid = to_regclass('_published')
       AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'application_id')`,
  );
  if (found === undefined) return;
  const aside = `${found.schema}_development`;
  const sql = `ALTER SCHEMA "${found.schema}" RENAME TO "${aside}"; DROP TABLE IF EXISTS "${aside}"._leader`;
  throw new CataloguedError('database-development', `the schema ${found.schema} cannot be used: ${ofDevelopment}`, {
    exitCode: exitCodes.configuration,
    hint: `stop every instance, set it aside: psql -c '${sql}', and start again, which publishes the whole mirror. Lost are deliveries that only this schema has, the shared callback addresses and the feed numbers of followers`,
  });
}

/** Makes the schema where there is none. */
export async function makeSchema({ query }: Statements, name: string): Promise<void> {
  const [found] = await query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [name]);
  if (found === undefined) await query(`CREATE SCHEMA "${name}"`);
}

/** What a table is called until the rows of a whole publication are in. */
export const incoming = (table: string) => `${table}_incoming`;

/** Makes empty tables beside those that are read. */
export async function makeIncoming({ query }: Statements, shapes: readonly TableShape[]): Promise<void> {
  for (const shape of shapes) await query(definitionOf(shape, incoming(shape.name)));
}

/**
 * Puts the incoming tables in the place of those that are read. Readers wait for this moment alone: until the commit they see
 * what was published before. Views are replaced, not dropped: what others have made of them stays.
 */
export async function putInPlace({ query }: Statements, shapes: readonly TableShape[]): Promise<void> {
  const outgoing: string[] = [];
  for (const { name } of shapes) {
    const [{ stands } = { stands: false }] = await query<{ stands: boolean }>(
      'SELECT to_regclass($1) IS NOT NULL AS stands',
      [name],
    );
    if (stands) outgoing.push(`${name}_outgoing`);
    await query(
      `ALTER TABLE IF EXISTS ${name} RENAME TO ${name}_outgoing; ALTER TABLE ${incoming(name)} RENAME TO ${name}`,
    );
  }
  await query(text('postgres/published'));
  await query(text('postgres/functions'));
  await query(text('postgres/indexes'));
  for (const { name, sql } of views) {
    try {
      await query(`SAVEPOINT replacing; CREATE OR REPLACE VIEW ${name} AS ${sql}`);
    } catch {
      // A newer version has put a column between others, or made it of another type.
      await query(`ROLLBACK TO replacing; DROP VIEW ${name}; CREATE VIEW ${name} AS ${sql}`);
    }
  }
  await query(text('postgres/search'));
  // Nobody has counted new tables yet: without it the first readers would look through whole ones.
  await query(`ANALYZE ${shapes.map(({ name }) => name).join(', ')}`);
  const given = new Set<string>(shapes.map(({ name }) => name));
  // Of when other instances stood by.
  outgoing.push(...ownTables.filter((name) => !given.has(name)));
  if (outgoing.length > 0) await query(`DROP TABLE IF EXISTS ${outgoing.join(', ')}`);
}

/** The views, as contract.json names them. */
const views = [text('postgres/views'), text('mirror/views')]
  .flatMap((each, dialect) =>
    [...each.matchAll(/^CREATE VIEW (\w+) AS(.+?);$/gms)].map(([, name = '', sql = '']) => ({ dialect, name, sql })),
  )
  // Of the mirror's own text the one that both understand.
  .filter(({ dialect, name }) => dialect === 0 || name === 'policies');

/** For the pages of a shop, and for files on other hosts. */
export const rolesOf = (schema: string) => [`${schema}_reader`, `${schema}_follower`];

/**
 * Lets the two roles in, where they exist: `<schema>_reader` reads the views and nothing else, `<schema>_follower` the rows
 * that a file of its own is made of.
 */
export async function grant({ query }: Statements, schema: string, shapes: readonly TableShape[]): Promise<void> {
  const [reader, follower] = rolesOf(schema);
  const roles = await query<{ rolname: string }>('SELECT rolname FROM pg_roles WHERE rolname IN ($1, $2)', [
    reader,
    follower,
  ]);
  const rows = ['_published', '_gone', ...shapes.map(({ name }) => name).filter(isShown)];
  for (const { rolname } of roles)
    await query(
      `GRANT USAGE ON SCHEMA "${schema}" TO "${rolname}";
       GRANT SELECT ON ${(rolname === follower ? rows : [...views.map(({ name }) => name), ...contractTables]).join(', ')} TO "${rolname}"`,
    );
}
