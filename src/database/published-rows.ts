import { isPublished, isShown } from '../mirror/rows/capture.ts';
import type { Cell, NotedKeys, PublishedPage, RowQuestion, TableHead, TableRows } from '../mirror/rows/pages.ts';
import { quoted, type Statements } from './connect.ts';
import type { Published } from './schema.ts';
import { storable } from './tables.ts';

/** A published table as it stands in the database. */
export interface StandingTable extends TableHead {
  readonly types: Readonly<Record<string, string>>;
}

/** Tables that readers need, or also those that an instance needs in order to take over. */
export type RowsFor = 'shown' | 'all';

const wanted = { shown: isShown, all: isPublished } as const;

/** A page of one state with more rows is dearer than a new copy. */
const mostRows = 100_000;

export interface RowsAsked {
  readonly question: RowQuestion;
  readonly wanted: RowsFor;
}

/**
 * Returns what has changed after a published state, each row as it is now; whole states, as many as the limit takes, and one
 * at least. `begun-anew`: the state was never published, or is forgotten. All statements have to be of one snapshot.
 */
export async function rowsAfter(
  statements: Statements,
  { origin, state, floor, published_at, schema_version }: Published,
  { question: { origin: asked, after, limit }, wanted }: RowsAsked,
): Promise<PublishedPage | 'begun-anew'> {
  const last = asked === origin ? state : await lastOf(statements, asked);
  if (last === null || after > last || after < floor) return 'begun-anew';
  const number = (await endOf(statements, after, limit)) ?? state;
  const tables = await rowsOf(statements, await tablesIn(statements, wanted), {
    sources: 'SELECT DISTINCT source FROM _row WHERE state > $1 AND state <= $2',
    keysOf: (table) =>
      `SELECT DISTINCT key FROM _row, jsonb_array_elements(keys) AS key WHERE state > $1 AND state <= $2 AND source = '${table}'`,
    values: [after, number],
  });
  if (tables === null) return 'begun-anew';
  return { origin, number, whole: number === state, schema_version, published_at, tables };
}

/**
 * Returns the rows of these keys as they are published: what a follower needs that knew all of the leader's own rows but
 * these. Null: too many.
 */
export async function rowsOfKeys(
  statements: Statements,
  { origin, state, published_at, schema_version }: Published,
  { keys }: NotedKeys,
): Promise<PublishedPage | null> {
  const each = [...keys].map(([source, of]) => `${JSON.stringify(source)}: [${of.join()}]`);
  const tables = await rowsOf(statements, await tablesIn(statements, 'all'), {
    sources: 'SELECT jsonb_object_keys($1) AS source',
    keysOf: (table) => `SELECT DISTINCT key FROM jsonb_array_elements($1::jsonb -> '${table}') AS key`,
    values: [storable(`{${each.join()}}`)],
  });
  return tables && { origin, number: state, whole: true, schema_version, published_at, tables };
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

/** Returns the tables, by name. */
export async function tablesIn({ query }: Statements, which: RowsFor): Promise<readonly StandingTable[]> {
  const tables = await query<StandingTable>(
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
  return tables.filter(({ table }) => wanted[which](table));
}

export const rowOf = ({ columns }: StandingTable) =>
  `json_build_array(${columns.map((column) => `t.${quoted(column)}`).join(', ')})`;

/** Selection of rows: SQL that names their tables, and SQL that returns the keys in one of them. */
interface Chosen {
  readonly sources: string;
  readonly keysOf: (table: string) => string;
  readonly values: readonly unknown[];
}

/** Returns rows, and the keys of those that are no more; null: too many. */
async function rowsOf(
  { query }: Statements,
  tables: readonly StandingTable[],
  { sources, keysOf, values }: Chosen,
): Promise<readonly TableRows[] | null> {
  const changed = new Set((await query<{ source: string }>(sources, values)).map(({ source }) => source));
  const concerned = tables.filter(({ table }) => changed.has(table));
  if (concerned.length === 0) return [];
  const each = concerned.map(
    (table) =>
      `SELECT '${table.table}' AS source, k.key, CASE WHEN t.${quoted(table.key[0] ?? '')} IS NOT NULL THEN ${rowOf(table)} END AS row
       FROM (${keysOf(table.table)}) AS k LEFT JOIN ${quoted(table.table)} AS t ON ${sameKey(table)}`,
  );
  const rows = await query<{ source: string; key: Cell[]; row: Cell[] | null }>(
    `${each.join(' UNION ALL ')} LIMIT ${mostRows + 1}`,
    values,
  );
  if (rows.length > mostRows) return null;
  const bySource = Map.groupBy(rows, ({ source }) => source);
  return concerned.map(({ table, columns, key }) => {
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
function sameKey({ key, types }: StandingTable): string {
  return key
    .map((column, index) => `t.${quoted(column)} = (k.key ->> ${index})::${types[column] ?? 'text'}`)
    .join(' AND ');
}
