import { expect, it } from 'vitest';
import type { Database } from '../../src/kernel/sqlite/database-file.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { tables } from '../mirror/contract/tables.ts';
import { type ComparedView, comparedViews, type Row } from './expected.ts';

/** Views that have rows in a world in which nothing was withdrawn. */
const views = comparedViews.filter((view) => view !== 'withdrawn_products');

function columnsOf(db: Database, view: ComparedView): string[] {
  return db
    .prepare(`SELECT * FROM ${view}`)
    .columns()
    .map(({ name }) => name);
}

/** Puts a view in the place of another, with one cell forged: of the first row of a product that is on sale. */
function forge(db: Database, view: ComparedView, column: string): void {
  const sql = db.prepare<[string], string>('SELECT sql FROM temp.sqlite_schema WHERE name = ?').pluck().get(view);
  const names = tables[view]?.key ?? [];
  const row = db.prepare<[], Row>(
    `SELECT ${names.join(', ')} FROM ${view} WHERE product_id IN (SELECT product_id FROM products WHERE sellable = 1) LIMIT 1`,
  ).get(); // biome-ignore format: one statement
  if (row === undefined) throw new Error(`${view} has no row`);
  const isFirst = names.map((name) => `${name} = '${row[name]}'`).join(' AND ');
  const value = column === 'document' ? `'{"forged":1}'` : "'forged'";
  const cells = columnsOf(db, view).map((name) =>
    name === column ? `CASE WHEN ${isFirst} THEN ${value} ELSE ${name} END AS ${name}` : name,
  );
  const truth = sql === undefined ? `SELECT * FROM main.${view}` : sql.slice(sql.indexOf(' AS') + 3);
  db.exec(`DROP VIEW IF EXISTS temp.${view}; CREATE TEMP VIEW true_${view} AS ${truth};
    CREATE TEMP VIEW ${view} AS SELECT ${cells.join(', ')} FROM true_${view}`);
}

/** Returns the views in which a comparison finds a difference where one column is forged in each of them. */
async function found(harness: VirtualHarness, forged: readonly (readonly [ComparedView, string])[]) {
  const { first } = await harness.compare((reader) => {
    for (const [view, column] of forged) forge(reader, view, column);
  });
  return new Set(first.map((each) => /^\w+/.exec(each)?.[0]));
}

it('the comparison finds one forged cell, in every column of every view', async () => {
  await using harness = await filledHarness({ products: 3, lean: true });
  const columns = new Map<ComparedView, readonly string[]>();
  const clean = await harness.compare((reader) => {
    for (const view of views) columns.set(view, columnsOf(reader, view));
  });
  expect(clean.first).toEqual([]);
  const missed: string[] = [];
  let tried = 0;
  // Views are forged together, each in another column.
  for (let index = 0; index < Math.max(...[...columns.values()].map(({ length }) => length)); index += 1) {
    const forged = views.flatMap((view) => {
      const column = columns.get(view)?.[index];
      return column === undefined ? [] : [[view, column] as const];
    });
    const seen = await found(harness, forged);
    tried += forged.length;
    missed.push(...forged.filter(([view]) => !seen.has(view)).map((each) => each.join('.')));
  }
  expect(missed).toEqual([]);
  expect(tried).toBeGreaterThan(140);
});
