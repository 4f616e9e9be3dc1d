import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { withColumns } from '../../kernel/sqlite/view-columns.ts';
import { readableColumns } from '../../mirror/sql/files.ts';
import { packageRoot } from '../../package.ts';
import { quoted, type Statements } from './connect.ts';
import { computedColumns, definitionOf, type TableShape, tableOf } from './tables.ts';

/*
 * Tables, indexes, functions and views of the schema. Where those of another version stand, all that readers would wait for is
 * left to one short step at the end of a publication.
 */

export interface Layout {
  /** Statements that add columns. Each runs by itself, before any row is written. */
  readonly additions: readonly string[];
  /** SQL of the functions that indexes need. Null: they are up to date. No reader waits for it. */
  readonly functions: string | null;
  /** Tables that nobody reads before the end, each by the name that it has until then. */
  readonly made: ReadonlyMap<string, string>;
  /** Views and searches where none stand. */
  readonly first: readonly string[];
  /** Statements that run in the transaction of the published state, in this order. */
  readonly last: readonly string[];
  /** Steps that run after the publication, each in a transaction of its own: readers wait for one at a time. */
  readonly after: readonly Step[];
}

/** A statement that readers wait for, and what it makes. */
export interface Step {
  readonly sql: string;
  readonly makes?: Made;
}

interface Made {
  readonly name: string;
  readonly kind: 'table' | 'view' | 'functions';
  readonly hash: string;
}

const text = (path: string) => readFileSync(new URL(`schema/${path}.sql`, packageRoot), 'utf8');
const hashOf = (sql: string) => createHash('sha256').update(sql).digest('hex').slice(0, 8);

/** The views, as contract.json names them. */
const views = [...withColumns(text('postgres/views'), readableColumns).matchAll(/^CREATE VIEW (\w+) AS(.+?);$/gms)].map(
  ([, name = '', sql = '']) => ({ name, sql }),
);
const viewNames = new Set(views.map(({ name }) => name));

/** Functions that the views use, and functions that use the views. */
const functions = text('postgres/functions');
const searches = text('postgres/search');

/** Beside the primary keys: each has a hash of its text in its name. */
const indexes = [...text('postgres/indexes').matchAll(/^CREATE INDEX ON (\w+) (.+);$/gm)].map(
  ([, table = '', rest = '']) => ({ table, rest, hash: hashOf(rest) }),
);

const madeOfFunctions: Made = { name: 'functions.sql', kind: 'functions', hash: hashOf(functions) };
const madeOfSearches: Made = { name: 'search.sql', kind: 'functions', hash: hashOf(searches) };
const madeOfView = ({ name, sql }: { name: string; sql: string }): Made => ({ name, kind: 'view', hash: hashOf(sql) });

/** Makes what the schema itself needs, where it is not there. */
export async function makeBase({ query }: Statements): Promise<void> {
  await query(text('postgres/published'));
}

/** Compares what stands with what this version needs. Throws `database-depended-on` where something of a shop's would fall. */
export async function layoutOf(statements: Statements, shapes: readonly TableShape[]): Promise<Layout> {
  const standing = await standingIn(statements);
  const { tables, hashes } = standing;
  const tableNames = new Set<string>(shapes.map(({ name }) => name));
  const gone = standing.namesOf('table').filter((name) => tables.has(name) && !tableNames.has(name));
  const others = shapes.filter((shape) => isAnother(tables.get(shape.name), shape)).map(({ name }) => name as string);
  const next = shapes
    .filter(({ name }) => !tables.has(name) || others.includes(name))
    .map(({ name }): [string, string] => [name, tables.has(name) || standing.views.has(name) ? `${name}_next` : name]);
  const kept = shapes.filter(({ name }) => tables.has(name) && !others.includes(name));
  const surplus = kept.flatMap(({ name, columns }) =>
    [...(tables.get(name)?.columns.keys() ?? [])]
      .filter((column) => columns.every((each) => each.name !== column))
      .map((column) => ({ of: name as string, column })),
  );
  const away = [...others, ...gone];
  // Views over a table that is replaced by another one of its name are made again.
  const rebound = next.some(([name, as]) => name !== as);
  const differing = views.filter(
    ({ name, sql }) => rebound || !standing.views.has(name) || hashes.get(name) !== hashOf(sql),
  );
  const unfit = differing.filter(({ name }) => isUnfit(name, standing.views.get(name))).map(({ name }) => name);
  const former = standing.namesOf('view').filter((name) => standing.views.has(name) && !viewNames.has(name));
  const falling = [...unfit, ...former];
  const orphaned = new Set<string>();
  if (falling.length + away.length + surplus.length > 0) {
    const dependents = await dependentsIn(statements);
    for (const { of, view } of dependents) if (view !== null && gone.includes(of)) orphaned.add(view);
    for (let index = 0; index < falling.length; index += 1)
      for (const { view, ours } of dependents.filter(({ of }) => of === falling[index]))
        if (ours && view !== null && !falling.includes(view)) falling.push(view);
    refuseDependents(
      dependents.filter(
        ({ of, column, ours }) =>
          !ours &&
          (falling.includes(of) ||
            away.includes(of) ||
            surplus.some((each) => each.of === of && each.column === column)),
      ),
    );
  }
  const fall = falling.length > 0;
  // Nobody can wait for what nobody knows.
  const isFirst = !hashes.has(madeOfSearches.name) && standing.views.size === 0;
  const written = views
    .filter((view) => differing.includes(view) || falling.includes(view.name))
    .map((view) => ({
      sql: viewOf(view, falling.includes(view.name) ? [] : (standing.views.get(view.name) ?? [])),
      makes: madeOfView(view),
      // Of one that nobody has, or that read what is no longer written.
      isLast: !isFirst && (rebound || orphaned.has(view.name) || falling.includes(view.name)),
    }));
  const searchesLast = !isFirst && (rebound || fall);
  const retired = standing.indexes.filter(
    ({ table, hash }) => tableNames.has(table) && indexes.every((each) => each.table !== table || each.hash !== hash),
  );
  return {
    additions: kept.flatMap(({ name, columns }) => {
      const missing = columns.filter((column) => !tables.get(name)?.columns.has(column.name)).map(definitionOf);
      return missing.length === 0 ? [] : [`ALTER TABLE ${quoted(name)} ADD COLUMN ${missing.join(', ADD COLUMN ')}`];
    }),
    functions: hashes.get(madeOfFunctions.name) === madeOfFunctions.hash ? null : functions,
    made: new Map(next),
    first: isFirst ? [...written.map(({ sql }) => sql), searches] : [],
    last: [
      ...(fall
        ? [...searches.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map(
            ([, name]) => `DROP FUNCTION IF EXISTS ${name}`,
          )
        : []),
      ...(fall ? [`DROP VIEW ${falling.map(quoted).join(', ')}`] : []),
      ...others.map((name) => `ALTER TABLE ${quoted(name)} RENAME TO ${quoted(`${name}_before`)}`),
      ...next.flatMap(([name, as]) => (name === as ? [] : [`ALTER TABLE ${quoted(as)} RENAME TO ${quoted(name)}`])),
      ...(rebound ? [functions] : []),
      ...written.filter(({ isLast }) => isLast).map(({ sql }) => sql),
      ...(searchesLast ? [searches] : []),
      ...others.map((name) => `DROP TABLE ${quoted(`${name}_before`)}`),
    ],
    after: [
      ...(isFirst ? [] : written.filter(({ isLast }) => !isLast)),
      ...(isFirst || searchesLast || hashes.get(madeOfSearches.name) === madeOfSearches.hash
        ? []
        : [{ sql: searches, makes: madeOfSearches }]),
      ...surplus.map(({ of, column }) => ({ sql: `ALTER TABLE ${quoted(of)} DROP COLUMN ${quoted(column)}` })),
      ...gone.map((name) => ({ sql: `DROP TABLE ${quoted(name)}` })),
      ...retired.map(({ name }) => ({ sql: `DROP INDEX ${quoted(name)}` })),
    ],
  };
}

/** Returns whether only steps after the publication are left to do. */
export function isStanding({ additions, functions, made, first, last }: Layout): boolean {
  return additions.length === 0 && functions === null && made.size === 0 && first.length + last.length === 0;
}

/** Makes tables that nobody reads yet, without their indexes. */
export async function makeTables(
  { query }: Statements,
  shapes: readonly TableShape[],
  { made }: Layout,
): Promise<void> {
  const sql = shapes.flatMap((shape) => {
    const as = made.get(shape.name);
    return as === undefined ? [] : [tableOf(shape, as)];
  });
  if (sql.length > 0) await query(sql.join('; '));
}

/** Makes the functions and indexes that are missing: readers do not wait for them. */
export async function makeIndexes(statements: Statements, { functions, made }: Layout): Promise<void> {
  if (functions !== null) await statements.query(functions);
  const { tables, indexes: standing } = await standingIn(statements);
  const missing = indexes
    .map(({ table, ...each }) => ({ ...each, on: made.get(table) ?? table }))
    .filter(({ on, hash }) => tables.has(on) && !standing.some((each) => each.table === on && each.hash === hash));
  const sql = missing.map(({ on, rest, hash }) => `CREATE INDEX ${quoted(`${on}_${hash}`)} ON ${quoted(on)} ${rest}`);
  // Nobody has counted new tables yet: without it the first readers would look through whole ones.
  if (made.size > 0) sql.push(`ANALYZE ${[...made.values()].map(quoted).join(', ')}`);
  if (sql.length > 0) await statements.query(sql.join('; '));
}

/** Notes which texts everything was made of, but for what comes afterwards. */
export async function noteMade({ query }: Statements, shapes: readonly TableShape[], { after }: Layout): Promise<void> {
  const later = new Set(after.map(({ makes }) => makes?.name));
  const made = [
    ...shapes.map(({ name }): Made => ({ name, kind: 'table', hash: '' })),
    ...views.map(madeOfView),
    madeOfFunctions,
    madeOfSearches,
  ];
  // A table that is no more is known until it is dropped.
  await query(
    `DELETE FROM _made WHERE name <> ALL ($1) AND (kind <> 'table' OR to_regclass(quote_ident(name)) IS NULL)`,
    [made.map(({ name }) => name)],
  );
  await note(
    { query },
    made.filter(({ name }) => !later.has(name)),
  );
}

async function note({ query }: Statements, made: readonly Made[]): Promise<void> {
  await query(
    `INSERT INTO _made (name, kind, hash) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
     ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, hash = excluded.hash WHERE _made.hash <> excluded.hash`,
    [made.map(({ name }) => name), made.map(({ kind }) => kind), made.map(({ hash }) => hash)],
  );
}

/** Does what can come after a publication. */
export async function takeStep(statements: Statements, { sql, makes }: Step, patience_ms: number): Promise<void> {
  if (makes !== undefined) await note(statements, [makes]);
  await briefly(statements, [sql], patience_ms);
}

interface StandingTable {
  /** Their types, of those that rows have. */
  readonly columns: ReadonlyMap<string, string>;
  /** The others, which it computes. */
  readonly computed: readonly string[];
  readonly key: readonly string[];
}

async function standingIn({ query }: Statements) {
  type Relation = { name: string; kind: 'r' | 'v'; columns: [string, string][]; computed: string[]; key: string[] };
  const relations = await query<Relation>(
    `SELECT c.relname AS name, c.relkind AS kind,
       (SELECT coalesce(json_agg(json_build_array(a.attname, format_type(a.atttypid, NULL)) ORDER BY a.attnum), '[]') FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
       (SELECT coalesce(json_agg(a.attname ORDER BY a.attnum), '[]') FROM pg_attribute a
         WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attgenerated <> '') AS computed,
       (SELECT coalesce(json_agg(k.attname ORDER BY p.nth), '[]') FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY p (attnum, nth), pg_attribute k
         WHERE i.indrelid = c.oid AND i.indisprimary AND k.attrelid = c.oid AND k.attnum = p.attnum) AS key
     FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'v')`,
  );
  const noted = await query<{ name: string; kind: string; hash: string }>(
    'SELECT name, kind, hash FROM _made ORDER BY name',
  );
  const ownIndexes = await query<{ name: string; table: string; hash: string }>(
    `SELECT indexname AS name, tablename AS table, right(indexname, 8) AS hash FROM pg_indexes
     WHERE schemaname = current_schema() AND indexname ~ '_[0-9a-f]{8}$'`,
  );
  const ofKind = (kind: string) => relations.filter((each) => each.kind === kind);
  return {
    tables: new Map(
      ofKind('r').map(({ name, columns, ...of }): [string, StandingTable] => [
        name,
        { ...of, columns: new Map(columns) },
      ]),
    ),
    views: new Map(ofKind('v').map(({ name, columns }) => [name, columns.map(([column]) => column)])),
    hashes: new Map(noted.map(({ name, hash }) => [name, hash])),
    indexes: ownIndexes,
    namesOf: (kind: string) => noted.filter((each) => each.kind === kind).map(({ name }) => name),
  };
}

/**
 * Returns whether a table has the wrong key, a column of the wrong type or others that it computes. Another table takes
 * its place then.
 */
function isAnother(table: StandingTable | undefined, { name: of, columns, key }: TableShape): boolean {
  return (
    table !== undefined &&
    (table.key.join() !== key.join() ||
      table.computed.join() !== computedColumns(of).join() ||
      columns.some(({ name, type }) => (table.columns.get(name) ?? type) !== type))
  );
}

/** Returns whether a view cannot be replaced in place, because it has a column that this version lacks. */
function isUnfit(name: string, standing: readonly string[] | undefined): boolean {
  if (standing === undefined) return false;
  const columns = readableColumns.get(name);
  return columns === undefined || standing.some((column) => !columns.includes(column));
}

/** A view's columns stay where they are; new ones come last. */
function viewOf({ name, sql }: { name: string; sql: string }, standing: readonly string[]): string {
  const columns = readableColumns.get(name) ?? [];
  const isInOrder = standing.every((column, index) => columns[index] === column);
  const ordered = [...standing, ...columns.filter((column) => !standing.includes(column))];
  const body = isInOrder ? sql : ` SELECT ${ordered.map(quoted).join(', ')} FROM (${sql}) AS reordered`;
  const create = `CREATE OR REPLACE VIEW ${quoted(name)} AS${body}`;
  if (standing.length === 0) return create;
  // The view is dropped first if a column has another type now.
  return `DO $view$ BEGIN ${create}; EXCEPTION WHEN invalid_table_definition THEN DROP VIEW ${quoted(name)}; ${create}; END $view$`;
}

interface Dependent {
  /** Table or view of ours that it depends on, and its column (null: all). */
  readonly of: string;
  readonly column: string | null;
  readonly name: string;
  /** Null: it is no view. */
  readonly view: string | null;
  readonly ours: boolean;
}

/** All that stands on tables and views of the schema. */
async function dependentsIn({ query }: Statements): Promise<readonly Dependent[]> {
  const found = await query<Omit<Dependent, 'ours'> & { inside: boolean }>(
    `SELECT DISTINCT c.relname AS of, a.attname AS column, v.relname AS view, coalesce(v.relnamespace, p.pronamespace, 0) = c.relnamespace AS inside,
       CASE WHEN v.oid IS NULL THEN pg_describe_object(d.classid, d.objid, 0) ELSE 'view ' || v.oid::regclass END AS name
     FROM pg_depend d
     JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid AND c.relnamespace = to_regnamespace(quote_ident(current_schema()))
     LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
     LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
     LEFT JOIN pg_class v ON v.oid = w.ev_class
     LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
     WHERE d.deptype = 'n' AND d.classid <> 'pg_attrdef'::regclass AND c.relkind IN ('r', 'v') AND v.oid IS DISTINCT FROM c.oid
     ORDER BY name, "of", "column"`,
  );
  const noted = await query<{ name: string }>("SELECT name FROM _made WHERE kind = 'view'");
  const own = new Set(noted.map(({ name }) => name));
  return found.map(({ inside, ...each }) => ({ ...each, ours: inside && (each.view === null || own.has(each.view)) }));
}

function refuseDependents(dependents: readonly Dependent[]): void {
  if (dependents.length === 0) return;
  const said = Map.groupBy(dependents, ({ name }) => name);
  const each = [...said].map(
    ([name, of]) =>
      `${name} (reads ${of.map(({ of, column }) => (column === null ? of : `${of}.${column}`)).join(', ')})`,
  );
  throw new CataloguedError(
    'database-depended-on',
    `this version has another form of what stands in the way: ${each.join('; ')}`,
    {
      exitCode: exitCodes.configuration,
      hint: `drop it, let this version publish, and make it anew as postgresql.md says: ${[...said.keys()].map((name) => `DROP ${name.replace(/^\w+/, (kind) => kind.toUpperCase())}`).join('; ')}`,
    },
  );
}

/** As long as a reader may wait, and longer where that does not suffice; after the last one the publication is given up. */
const patiences_ms = [...Array<number>(60).fill(30), ...Array<number>(240).fill(75)];

/** Codes of PostgreSQL for a timeout, a lock that is not free, and a deadlock. */
const inTheWay = new Set(['57014', '55P03', '40P01']);

/** Returns whether readers stood in the way, in a transaction's own words or in those for a person. */
function isInTheWay(error: unknown): boolean {
  const { code, cause } = error as { code: string; cause?: { code?: string } };
  return inTheWay.has(code) || inTheWay.has(cause?.code ?? '');
}

/** Attempts something that readers wait for until they let it through, with a pause after each. Readers go first. */
export async function inMoments(
  attempt: (patience_ms: number) => Promise<void>,
  pause: (seconds: number) => Promise<unknown>,
): Promise<void> {
  for (const [tries, patience_ms] of patiences_ms.entries()) {
    try {
      return await attempt(patience_ms);
    } catch (error) {
      if (!isInTheWay(error) || tries === patiences_ms.length - 1) throw error;
      // Not always as long: two that publish would meet again and again.
      await pause(0.02 + (tries % 7) * 0.015);
    }
  }
}

/** Runs statements that readers wait for: all within a moment, or none of them. */
export async function briefly({ query }: Statements, sql: readonly string[], patience_ms: number): Promise<void> {
  const each = sql.map((text) => `EXECUTE $each$${text}$each$;`);
  await query(`SET LOCAL statement_timeout TO ${patience_ms}`);
  await query(`DO $briefly$ BEGIN ${each.join('\n')} END $briefly$`);
}

/** Does the same within a longer transaction: what else it has done stays where readers do not let it through. */
export async function brieflyWithin(statements: Statements, sql: readonly string[]): Promise<void> {
  const { query } = statements;
  if (sql.length === 0) return;
  const [{ usual } = { usual: '0' }] = await query<{ usual: string }>(
    "SELECT current_setting('statement_timeout') AS usual",
  );
  const attempt = async (patience_ms: number) => {
    await query('SAVEPOINT briefly');
    try {
      await briefly(statements, [...sql, `SET LOCAL statement_timeout TO '${usual}'`], patience_ms);
    } catch (error) {
      await query('ROLLBACK TO briefly');
      throw error;
    }
  };
  await inMoments(attempt, (seconds) => query('SELECT pg_sleep($1)', [seconds]));
}
