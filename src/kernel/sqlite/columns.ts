import { createHash } from 'node:crypto';
import Database from 'better-sqlite3';
import { type FileKind, migrationsOf } from './file-kind.ts';

type Columns = ReadonlyMap<string, ReadonlySet<string>>;

/** Columns that each version of a schema has. They are part of the program, and made once in a process. */
const made = new WeakMap<URL, Columns[]>();

/**
 * Returns how the tables of a file differ from those of its version; null: in nothing. An unreleased version leaves such a
 * file, or somebody who changes it with a tool. Tables that are not ours do not count.
 */
export function otherColumns(db: Database.Database, kind: FileKind, version: number): string | null {
  const stands = columnsIn(db);
  if (markOf(stands) === markIn(migrationsOf(kind)[version - 1] ?? '')) return null;
  for (const [table, columns] of columnsOf(kind, version)) {
    const found = stands.get(table);
    if (found === undefined) return `there is no table ${table}, which schema ${version} has`;
    const [missing] = columns.difference(found);
    if (missing !== undefined) return `table ${table} has no column ${missing}, which schema ${version} has`;
    const [surplus] = found.difference(columns);
    if (surplus !== undefined) return `table ${table} has a column ${surplus}, which schema ${version} does not have`;
  }
  return null;
}

/** Returns what the columns of a file are known by: two files with the same mark have the same tables and columns. */
export function markOf(columns: Columns): string {
  const sorted = [...columns].map(([table, of]) => [table, ...[...of].sort()].join(' ')).sort();
  return createHash('sha256').update(sorted.join('\n')).digest('hex').slice(0, 16);
}

/** Returns the mark that a step names for the columns it leads to: with it, no command has to make them first. Null: none. */
function markIn(step: string): string | null {
  return /^-- Columns: ([0-9a-f]{16})$/m.exec(step)?.[1] ?? null;
}

/** Returns the columns of a version. Only the first call reads the steps: one before a change of users lets later ones do without. */
export function columnsOf(kind: FileKind, version: number): Columns {
  const known = made.get(kind.migrations) ?? [];
  made.set(kind.migrations, known);
  const found = known[version];
  if (found !== undefined) return found;
  const db = new Database(':memory:');
  try {
    for (const step of migrationsOf(kind).slice(0, version)) db.exec(step);
    const columns = columnsIn(db);
    known[version] = columns;
    return columns;
  } finally {
    db.close();
  }
}

function columnsIn(db: Database.Database): Columns {
  const rows = db
    .prepare<[], [string, string]>(
      `SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
       WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite%'`,
    )
    .raw()
    .all();
  const tables = Map.groupBy(rows, ([table]) => table);
  return new Map([...tables].map(([table, of]) => [table, new Set(of.map(([, column]) => column))]));
}
