import { readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../errors.ts';
import { packageRoot } from '../package.ts';
import type { Postgres } from './connect.ts';
import { makeSchema } from './schema.ts';

/** What makes several instances one: all have the same, or are refused. */
export interface Shared {
  /** Of the mirror and the inbox of every instance. */
  readonly pair_id: string;
  /** Tells API keys apart without telling them. */
  readonly key_fingerprint: string;
}

/** Any number of our own: whoever makes the tables holds it. */
const makingTables = 7_025_801;

/**
 * Makes the tables that instances share, where none stand, and notes what the first one brings along. An instance with
 * another key is refused (78): one account has one budget. Returns the pair id of all.
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
    const [{ stands } = { stands: false }] = await query<{ stands: boolean }>(
      "SELECT to_regclass('_leader') IS NOT NULL AS stands",
    );
    if (!stands) await query(readFileSync(new URL('schema/postgres/instances.sql', packageRoot), 'utf8'));
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

function anotherKey(address: string): CataloguedError {
  return new CataloguedError('another-account', `the schema in ${address} belongs to another API key`, {
    exitCode: exitCodes.configuration,
    hint: 'give each account a schema of its own (database.schema); after a change of the key: UPDATE _leader SET key_fingerprint = NULL',
  });
}
