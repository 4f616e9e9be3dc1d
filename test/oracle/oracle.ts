import type { Database } from 'better-sqlite3';
import { Between, type ComparedView, comparedViews, expectedRows, type Row, readAtColumns } from './expected.ts';
import { keyColumns } from './key-columns.ts';
import { comparableRows } from './off-sale.ts';
import { comparePlaces } from './places.ts';
import type { Shown } from './shown.ts';
import { ViewText } from './view-text.ts';

/** How many values were NULL, and how many were not. */
interface Seen {
  empty: number;
  filled: number;
}

/** What the comparison found: the first differing rows, and how much was compared. */
export interface Comparison {
  readonly differences: number;
  readonly first: string[];
  readonly products: number;
  /** How many times the rows of a product in a view were compared cell by cell, as their text was not the expected one. */
  readonly by_cell: number;
  /** Rows compared, by view. */
  readonly rows: Record<string, number>;
  /** The values of each column, by view. */
  readonly seen: Record<ComparedView, Record<string, Seen>>;
}

export interface Question {
  readonly language: string;
  readonly currency: string;
  /** Instant of what is expected. It has to be that of the views: a time that begins between the two is a difference. */
  readonly now: number;
  /** How far stored instants may be ahead of it, in milliseconds; left out: not at all. */
  readonly ahead_ms?: number;
  /** Whether image files are kept, of which the service says nothing. */
  readonly files?: boolean;
}

/** Differences that are put into words: two or more in each view. */
const most = 40;

/** Products that are read as text at once: all of a small world, and not more text than fits of a large one. */
const together = 100;

/**
 * Compares every column of every view with what the sandbox shows, product by product, and looks for products that
 * only one of them has.
 */
export async function compare(
  db: Database,
  product_ids: readonly number[],
  stateOf: (product_id: number) => Promise<Shown>,
  question: Question,
): Promise<Comparison> {
  const comparison = {
    differences: 0,
    first: [] as string[],
    products: 0,
    by_cell: 0,
    rows: byView(() => 0),
    seen: byView((): Record<string, Seen> => ({})),
  };
  const differ = (text: string) => {
    comparison.differences += 1;
    if (comparison.first.length < most) comparison.first.push(text);
  };
  compareFill(db, differ);
  const newest = question.now + (question.ahead_ms ?? 0);
  const views = comparedViews.map((view) => {
    const ignored = view === 'images' && question.files === true ? ['file'] : [];
    const cells = db.prepare<[number], Row>(`SELECT * FROM ${view} WHERE product_id = ?`);
    return { view, ignored, cells, text: new ViewText(db, view, { now: newest, ignored }) };
  });
  const states: Shown[] = [];
  for (const [index, product_id] of product_ids.entries()) {
    if (index % together === 0) for (const { text } of views) text.read(product_ids.slice(index, index + together));
    const state = await stateOf(product_id);
    states.push(state);
    const expected = expectedRows(state, question);
    const { has_detail } = state;
    for (const { view, ignored, cells, text } of views) {
      const wanted = expected[view];
      comparison.rows[view] += wanted.length;
      // Of a product that is not on sale some rows are left out of the comparison.
      if (state.sale_status === 'available' && text.isEqual(product_id, wanted, has_detail)) {
        text.count(wanted, (column, empty, filled) => addTo(comparison.seen[view], column, { empty, filled }));
        continue;
      }
      comparison.by_cell += 1;
      const rows = cells.all(product_id);
      for (const row of rows) for (const column of ignored) row[column] = null;
      const found = comparableRows(view, rows, state);
      count(comparison.seen[view], found);
      const given = { now: newest, members: state.differing, has_detail };
      compareView(view, found, wanted, given, differ);
    }
    comparison.products += 1;
  }
  Object.assign(comparison.rows, comparePlaces(db, states, question, differ));
  const known = new Set(product_ids);
  const mirrored = db.prepare<[], number>('SELECT product_id FROM products').pluck().all();
  for (const id of mirrored)
    if (!known.has(id)) differ(`products: ${id} is mirrored, and the service does not show it`);
  return comparison;
}

function byView<Value>(value: () => Value): Record<ComparedView, Value> {
  return Object.fromEntries(comparedViews.map((view) => [view, value()])) as Record<ComparedView, Value>;
}

/** BatchReads whether every resource was read, and is read as often as promised. */
function compareFill(db: Database, differ: (text: string) => void): void {
  const named = ({ resource, tier }: Row) => (tier === null ? String(resource) : `${resource} ${tier}`);
  const promises = db.prepare<[], Row>('SELECT resource, tier, met, oldest_checked_at FROM freshness').all();
  const unread = promises.filter(({ oldest_checked_at }) => oldest_checked_at === 0).map(named);
  const info = db.prepare<[], Row>('SELECT * FROM mirror_info').get();
  if (typeof info?.filled_at !== 'number')
    differ(`mirror_info: not filled; records were never read of: ${unread.join(', ') || 'nothing that is known'}`);
  for (const each of promises)
    if (each.met !== 1)
      differ(`freshness: ${named(each)} is not met${unread.includes(named(each)) ? ': one was never read' : ''}`);
}

function count(seen: Record<string, Seen>, rows: readonly Row[]): void {
  for (const row of rows)
    for (const column in row)
      addTo(seen, column, row[column] === null ? { empty: 1, filled: 0 } : { empty: 0, filled: 1 });
}

function addTo(seen: Record<string, Seen>, column: string, { empty, filled }: Seen): void {
  const of = seen[column] ?? { empty: 0, filled: 0 };
  of.empty += empty;
  of.filled += filled;
  seen[column] = of;
}

/** What the comparison of a product's rows has to know. */
interface Given {
  readonly now: number;
  /** Members of documents that differ from read to read. */
  readonly members: readonly string[];
  readonly has_detail: boolean;
}

function compareView(
  view: ComparedView,
  found: Row[],
  wanted: readonly Row[],
  given: Given,
  differ: (text: string) => void,
): void {
  const columns = keyColumns[view] ?? [];
  const keyOf = (row: Row) => columns.map((column) => String(row[column])).join(' ');
  const rows = new Map(found.map((row) => [keyOf(row), row]));
  if (rows.size !== found.length) differ(`${view}: ${found.length - rows.size} rows stand twice`);
  for (const row of wanted) {
    const key = keyOf(row);
    const other = rows.get(key);
    rows.delete(key);
    if (other === undefined) differ(`${view}: missing ${JSON.stringify(row).slice(0, 200)}`);
    else compareRow(view, other, row, given, differ);
  }
  for (const row of rows.values()) differ(`${view}: not expected ${JSON.stringify(row).slice(0, 200)}`);
}

function compareRow(
  view: string,
  found: Row,
  wanted: Row,
  { now, members, has_detail }: Given,
  differ: (text: string) => void,
): void {
  for (const [column, value] of Object.entries(found)) {
    if (column === 'detail_freshness' && !has_detail) {
      if (value !== 'unknown') differ(`${view}.${column} of product ${found.product_id}: ${String(value)}`);
      continue;
    }
    if (readAtColumns.has(column)) {
      if (!plausible(column, value, now)) differ(`${view}.${column} of product ${found.product_id}: ${String(value)}`);
      continue;
    }
    if (!(column in wanted)) {
      differ(`${view}.${column}: nobody says what it must be`);
      continue;
    }
    if (column === 'document') {
      const other = wanted[column] as Row;
      const document = JSON.parse(String(value)) as Row;
      for (const name of new Set([...Object.keys(document), ...Object.keys(other)]))
        if (!members.includes(name) && canonical(document[name]) !== canonical(other[name]))
          differ(
            `${view}.document.${name} of product ${found.product_id}: ${canonical(document[name])?.slice(0, 80)} must be ${canonical(other[name])?.slice(0, 80)}`,
          );
    } else if (!isWanted(value, wanted[column]))
      differ(
        `${view}.${column} of ${JSON.stringify({ ...found, document: undefined }).slice(0, 160)}: must be ${JSON.stringify(wanted[column])?.slice(0, 160)}`,
      );
  }
  for (const column of Object.keys(wanted)) if (!(column in found)) differ(`${view}: there is no column ${column}`);
}

const dayMs = 86_400_000;

function plausible(column: string, value: unknown, now: number): boolean {
  if (column === 'stale') return value === 0;
  if (column === 'freshness' || column === 'detail_freshness') return value === 'fresh';
  if (column === 'expired_at') return Number(value) > now;
  if (!Number.isInteger(value)) return false;
  const at = column === 'expires_at' ? Number(value) - 14 * dayMs : Number(value);
  // When something changed last may be long ago; when it was read may not.
  return at <= now && (column === 'changed_at' || at > now - 7 * dayMs);
}

function isWanted(value: unknown, wanted: unknown): boolean {
  return wanted instanceof Between
    ? typeof value === 'number' && value >= wanted.from && value <= wanted.to
    : value === wanted;
}

/** JSON with its members in order, so that two that mean the same read the same. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
