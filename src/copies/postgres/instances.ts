import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { packageRoot } from '../../package.ts';
import { type Postgres, quoted, type Statements } from './connect.ts';
import { makeSchema, refuseDevelopment } from './schema.ts';

/** Values that make several instances one: all have the same, or are refused. */
export interface Shared {
  /** Pair id of the mirror and the inbox of every instance. */
  readonly pair_id: string;
  /** Distinguishes API keys without revealing them. */
  readonly key_fingerprint: string;
}

/** A hash that only the key itself makes: the value in the database does not reveal the key. */
export function fingerprintOf(api_key: string): string {
  return createHmac('sha256', api_key).update('catalogued: one account, one schema').digest('hex').slice(0, 32);
}

/** Arbitrary number of an advisory lock, held by the instance that creates the tables. */
const makingTables = 7_025_801;

/**
 * Makes the tables that instances share, where none stand, and notes what the first one brings along. An instance with
 * another key is refused (78), and so is a key that another schema of the database has: one account has one budget. Returns the pair id of all.
 */
export async function joinInstances(
  database: Postgres,
  schema: string,
  { pair_id, key_fingerprint }: Shared,
): Promise<string> {
  return await database.transaction(async (statements) => {
    const { query } = statements;
    await query('SELECT pg_advisory_xact_lock($1)', [makingTables]);
    await makeSchema(statements, schema);
    await refuseDevelopment(statements);
    const [{ stands } = { stands: false }] = await query<{ stands: boolean }>(
      "SELECT to_regclass('_leader') IS NOT NULL AS stands",
    );
    if (!stands) await query(readFileSync(new URL('schema/postgres/instances.sql', packageRoot), 'utf8'));
    const other = await schemaOfKey(statements, schema, key_fingerprint);
    if (other !== null) throw sameAccount(database.address, other);
    const [joined] = await query<Shared>(
      `UPDATE _leader SET pair_id = coalesce(pair_id, $1), key_fingerprint = coalesce(key_fingerprint, $2)
       RETURNING pair_id, key_fingerprint`,
      [pair_id, key_fingerprint],
    );
    if (joined === undefined) throw new Error('_leader has no row');
    if (joined.key_fingerprint !== key_fingerprint) throw anotherKey(database.address);
    return joined.pair_id;
  });
}

/** Returns another schema of the database whose instances have this key; null: none that this user may read. */
async function schemaOfKey({ query }: Statements, own: string, key_fingerprint: string): Promise<string | null> {
  const schemas = await query<{ schema: string }>(
    `SELECT n.nspname AS schema FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'key_fingerprint'
     WHERE c.relname = '_leader' AND n.nspname <> $1
       AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')`,
    [own],
  );
  for (const { schema } of schemas) {
    const found = await query(`SELECT 1 FROM ${quoted(schema)}._leader WHERE key_fingerprint = $1`, [key_fingerprint]);
    if (found.length > 0) return schema;
  }
  return null;
}

function sameAccount(address: string, schema: string): CataloguedError {
  return new CataloguedError('same-account', `the schema ${schema} in ${address} already calls with this API key`, {
    exitCode: exitCodes.configuration,
    hint: `one account has one budget, and one schema: name that one (database.schema: ${schema}) or use another key; where it is abandoned: DROP SCHEMA ${schema} CASCADE`,
  });
}

function anotherKey(address: string): CataloguedError {
  return new CataloguedError('another-account', `the schema in ${address} belongs to another API key`, {
    exitCode: exitCodes.configuration,
    hint: 'give each account a schema of its own (database.schema); after a change of the key: UPDATE _leader SET key_fingerprint = NULL',
  });
}
