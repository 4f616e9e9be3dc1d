import type { Cell } from '../../feed/pages.store.ts';
import type { Database } from '../../kernel/sqlite/database-file.ts';
import { openReadOnly } from '../../kernel/sqlite/read-only.ts';
import type { Postgres, Statements } from './connect.ts';
import { publishedIn } from './schema.ts';
import { rowsIn, shapesOf, storable, type TableShape } from './tables.ts';

export interface Verified {
  /** Rows that were compared. */
  readonly rows: number;
  /** Tables in which rows differ, with how many. */
  readonly differ: Readonly<Record<string, number>>;
  /** Rows that the daemon has changed since the last publication: not compared. */
  readonly unpublished: number;
}

/** Compares everything that is published with the mirror, row by row, while the daemon goes on; null: nothing is published. */
export function verifyPublished(postgres: Postgres, mirror_path: string): Promise<Verified | null> {
  return postgres.transaction(async (statements) => {
    const published = await publishedIn(statements);
    if (published === null) return null;
    // The later of the two snapshots: it knows which rows the other one cannot have yet.
    const db = openReadOnly(mirror_path);
    try {
      db.exec('BEGIN');
      const changed = db
        .prepare<[number], string>('SELECT source || key FROM _row WHERE number > ?')
        .pluck()
        .all(published.source_number);
      const unpublished = new Set(changed);
      const differ: Record<string, number> = {};
      let rows = 0;
      for (const shape of shapesOf(db)) {
        const found = await compareTable(statements, db, { shape, unpublished });
        rows += found.rows;
        if (found.differ > 0) differ[shape.name] = found.differ;
      }
      return { rows, differ, unpublished: unpublished.size };
    } finally {
      db.close();
    }
  }, 'REPEATABLE READ READ ONLY');
}

interface Compared {
  readonly shape: TableShape;
  /** Tables with the keys of rows that differ for a while. */
  readonly unpublished: ReadonlySet<string>;
}

async function compareTable(statements: Statements, db: Database, { shape, unpublished }: Compared) {
  const { name, key } = shape;
  const columns = shape.columns.map((column) => column.name);
  const positions = key.map((column) => columns.indexOf(column));
  const keyOf = (row: readonly Cell[]) => JSON.stringify(positions.map((position) => row[position]));
  const ours = new Map<string, string>();
  for (const row of db
    .prepare<[], Cell[]>(`SELECT ${columns.join(', ')} FROM ${name}`)
    .raw()
    .iterate())
    ours.set(keyOf(row), JSON.stringify(row.map(storable)));
  const rows = ours.size;
  let differ = 0;
  for await (const published of rowsIn(statements, { table: name, columns }))
    for (const row of published) {
      const id = keyOf(row);
      if (ours.get(id) !== JSON.stringify(row) && !unpublished.has(`${name}${id}`)) differ += 1;
      ours.delete(id);
    }
  for (const id of ours.keys()) if (!unpublished.has(`${name}${id}`)) differ += 1;
  return { rows, differ };
}
