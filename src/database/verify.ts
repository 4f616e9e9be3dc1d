import type { Cell } from '../mirror/rows/pages.ts';
import { openReadOnly } from '../sqlite/read-only.ts';
import type { Postgres, Statements } from './connect.ts';
import { publishedIn } from './schema.ts';
import { shapesOf, storable, type TableShape } from './tables.ts';

export interface Verified {
  /** Rows that were compared. */
  readonly rows: number;
  /** Tables in which rows differ, with how many. */
  readonly differ: Readonly<Record<string, number>>;
  /** Rows that the daemon has changed since the last publication: not compared. */
  readonly unpublished: number;
}

const batchRows = 2000;

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
        const names = shape.columns.map(({ name }) => name).join(', ');
        const all = db.prepare<[], Cell[]>(`SELECT ${names} FROM ${shape.name}`).raw().iterate();
        const found = await compareTable(statements, shape, { all, unpublished });
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
  readonly all: IterableIterator<Cell[]>;
  readonly unpublished: ReadonlySet<string>;
}

async function compareTable({ query }: Statements, shape: TableShape, { all, unpublished }: Compared) {
  const { name, columns, key } = shape;
  const positions = key.map((column) => columns.findIndex((each) => each.name === column));
  const keyOf = (row: readonly unknown[]) => JSON.stringify(positions.map((position) => row[position]));
  const lineOf = (row: readonly unknown[]) => JSON.stringify(row.map(storable));
  const ours = new Map<string, string>();
  for (const row of all) ours.set(keyOf(row), lineOf(row));
  const rows = ours.size;
  let differ = 0;
  await query(
    `DECLARE published NO SCROLL CURSOR FOR SELECT json_build_array(${columns.map((column) => column.name).join(', ')}) AS row FROM ${name}`,
  );
  for (;;) {
    const theirs = await query<{ row: Cell[] }>(`FETCH ${batchRows} FROM published`);
    for (const { row } of theirs) {
      const id = keyOf(row);
      if (ours.get(id) !== JSON.stringify(row) && !unpublished.has(`${name}${id}`)) differ += 1;
      ours.delete(id);
    }
    if (theirs.length < batchRows) break;
  }
  await query('CLOSE published');
  for (const id of ours.keys()) if (!unpublished.has(`${name}${id}`)) differ += 1;
  return { rows, differ };
}
