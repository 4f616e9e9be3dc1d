import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { plannedOnce } from '../../src/storefront/planned-once.ts';
import { openReader } from '../fakes/reader.ts';
import { largeMirror } from './large-mirror.ts';
import { type Line, median, optionsOf, processorTime, spread } from './measure.ts';

/*
 * A calendar of 92 days out of the view beside the same rows out of a table that has nothing else, and the four columns that
 * a calendar shows: in Node and in Python, whose SQLite is that of the system. `npm run bench -- calendar --products 7500`, or
 * `--mirror FILE`.
 */

const [rounds, warmUp, shown, days] = [60, 10, 40, 92];
/** The best table that there could be: the view's rows, by the same key. */
const bareTable = `CREATE TEMP TABLE bare (product_id INTEGER, date TEXT, currency TEXT, state TEXT, lowest_price INTEGER,
  lowest_adult_price INTEGER, price_variant_type TEXT, max_tickets INTEGER, availability INTEGER, max_tickets_per_order INTEGER,
  checked_at INTEGER, stale INTEGER, expired_at INTEGER, freshness TEXT,
  PRIMARY KEY (product_id, currency, date)) WITHOUT ROWID`;

/** Microseconds of the processor for a calendar, round by round. */
type Taken = Readonly<Record<'view' | 'bare' | 'four', readonly number[]>>;

export async function calendarLines(args: readonly string[]): Promise<Line[]> {
  const { products, mirror } = optionsOf('calendar', args, { products: 1500, mirror: '' });
  if (mirror !== '') return linesOf(mirror);
  using test = largeMirror(products, days);
  return linesOf(test.path);
}

function linesOf(path: string): Line[] {
  using reader = openReader(path);
  const isWhole = (id: number) => reader.calendar(id).length >= days - 1;
  const sold = reader.products({ limit: 10_000 }).filter(({ sellable }) => sellable === 1);
  const ids = spread(sold.map(({ product_id }) => product_id).filter(isWhole), shown);
  return [...linesIn('Node', inNode(path, ids), 60), ...linesIn('Python', inPython(path, ids), 90)];
}

function inNode(path: string, ids: readonly number[]): Taken {
  using reader = openReader(path);
  const db = new Database(path, { readonly: true });
  db.exec(bareTable);
  for (const id of ids) db.prepare('INSERT INTO bare SELECT * FROM availability_days WHERE product_id = ?').run(id);
  const from = (table: string) => {
    const text = `SELECT * FROM ${table} WHERE product_id = ? AND currency = 'EUR' ORDER BY date`;
    const statement = db.prepare(plannedOnce(text));
    return (id: number) => statement.all(id);
  };
  const columns = ['date', 'state', 'lowest_adult_price', 'stale'] as const;
  const reads = [from('availability_days'), from('bare'), (id: number) => reader.calendar(id, { columns })];
  const read = (each: (id: number) => unknown) => () => {
    for (const id of ids) each(id);
  };
  const taken = Array.from({ length: warmUp + rounds }, () =>
    reads.map((each) => (1000 * processorTime(read(each))) / ids.length),
  );
  db.close();
  const [view, bare, four] = reads.map((_, index) => taken.slice(warmUp).map((round) => round[index] ?? 0));
  return { view: view ?? [], bare: bare ?? [], four: four ?? [] };
}

function inPython(path: string, ids: readonly number[]): Taken | null {
  if (spawnSync('python3', ['--version']).error !== undefined) return null;
  const program = join(import.meta.dirname, 'programs/calendar.py');
  const args = [program, path, String(rounds), JSON.stringify(ids), bareTable];
  return JSON.parse(execFileSync('python3', args, { encoding: 'utf8' }));
}

function linesIn(language: string, taken: Taken | null, most: number): Line[] {
  const view = `a calendar of ${days} days in ${language}: the view beside a table of the same columns`;
  const four = `a calendar of ${days} days in ${language}: date, state, price, stale`;
  if (taken === null)
    return [view, four].map((what) => ({ what, value: `there is no ${language} here`, target: '-', met: 'not run' }));
  const ratio = median(taken.view.map((each, round) => each / (taken.bare[round] ?? 0)));
  const micros = median(taken.four);
  return [
    {
      what: view,
      value: `${median(taken.view).toFixed(0)} µs / ${median(taken.bare).toFixed(0)} µs = ${ratio.toFixed(2)} ×`,
      target: '≤ 1.4 ×',
      met: ratio <= 1.4,
    },
    { what: four, value: `${micros.toFixed(0)} µs`, target: `≤ ${most} µs`, met: micros <= most },
  ];
}
