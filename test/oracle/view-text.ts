import type { Database, Statement } from 'better-sqlite3';
import type { ComparedView, Row } from './expected.ts';
import { keyColumns } from './key-columns.ts';

const dayMs = 86_400_000;

/** Conditions under which an instant of a read is plausible, by column: SQL, 1 where it is met. */
const plausible: Readonly<Record<string, (now: number) => string>> = {
  checked_at: (now) => `typeof(checked_at) = 'integer' AND checked_at <= ${now} AND checked_at > ${now - 7 * dayMs}`,
  verified_at: (now) =>
    `typeof(verified_at) = 'integer' AND verified_at <= ${now} AND verified_at > ${now - 7 * dayMs}`,
  changed_at: (now) => `typeof(changed_at) = 'integer' AND changed_at <= ${now}`,
  expires_at: (now) =>
    `typeof(expires_at) = 'integer' AND expires_at <= ${now + 14 * dayMs} AND expires_at > ${now + 7 * dayMs}`,
  expired_at: (now) => `typeof(expired_at) = 'integer' AND expired_at > ${now}`,
};

/** Values of the other columns that say how fresh a row is. */
const fresh: Readonly<Record<string, unknown>> = { stale: 0, freshness: 'fresh', detail_freshness: 'fresh' };

/** Stands in an expected text for anything that no cell equals: SQLite writes no such text. */
const unequal = '\u0000';

/**
 * A view as text, which SQLite makes of all rows of a product. A text that is equal to the expected one has equal cells.
 * A text that differs says nothing: members of a document may have another order, and a number may be a range.
 */
export class ViewText {
  readonly #keys: readonly string[];
  readonly #columns: readonly string[];
  readonly #known: ReadonlySet<string>;
  /** Cells of every row that is as fresh as it has to be, by column. */
  readonly #constants: ReadonlyMap<string, unknown>;
  readonly #select: Statement<[string], [number, string]>;
  /** Texts of the products that were read last. */
  #texts: ReadonlyMap<number, string> = new Map();

  /** `ignored`: columns that count as NULL, whatever they hold. */
  constructor(db: Database, view: ComparedView, { now, ignored }: { now: number; ignored: readonly string[] }) {
    this.#keys = keyColumns[view] ?? [];
    this.#columns = db
      .prepare(`SELECT * FROM ${view}`)
      .columns()
      .map(({ name }) => name);
    this.#known = new Set(this.#columns);
    const instants = Object.keys(plausible).map((name) => [name, 1] as const);
    this.#constants = new Map<string, unknown>([...instants, ...Object.entries(fresh)]);
    const cells = this.#columns.map((name) => (ignored.includes(name) ? 'NULL' : (plausible[name]?.(now) ?? name)));
    this.#select = db
      .prepare<[string], [number, string]>(
        `SELECT product_id, json_group_array(json_array(${cells.join(', ')})) FROM ${view}
         WHERE product_id IN (SELECT value FROM json_each(?)) GROUP BY product_id`,
      )
      .raw();
  }

  /** Reads the texts of these products. */
  read(product_ids: readonly number[]): void {
    this.#texts = new Map(this.#select.all(JSON.stringify(product_ids)));
  }

  /** Returns whether the rows of a product that was read are the expected ones, in the same order. */
  isEqual(product_id: number, wanted: readonly Row[], has_detail: boolean): boolean {
    const text = this.#texts.get(product_id);
    if (text === undefined) return wanted.length === 0;
    return text === this.#textOf(wanted, has_detail);
  }

  /** Adds how many of these rows, which are equal to those of the view, have no value, and how many have one. */
  count(wanted: readonly Row[], add: (column: string, empty: number, filled: number) => void): void {
    if (wanted.length === 0) return;
    for (const column of this.#columns) {
      let empty = 0;
      for (const row of wanted) if (row[column] === null) empty += 1;
      add(column, empty, wanted.length - empty);
    }
  }

  #textOf(wanted: readonly Row[], has_detail: boolean): string {
    const seen = new Set<string>();
    const rows = wanted.map((row) => {
      let key = '';
      for (const name of this.#keys) key += `${row[name]} `;
      // A row that is there twice equals nothing, nor does one with a column that the view lacks.
      if (seen.has(key)) return unequal;
      seen.add(key);
      for (const name in row) if (!this.#known.has(name)) return unequal;
      return this.#columns.map((name) => {
        const value = this.#constants.get(name) ?? row[name];
        if (typeof value === 'number') return Number.isFinite(value) ? value : unequal;
        if (value === undefined) return unequal;
        if (name === 'detail_freshness' && !has_detail) return 'unknown';
        return name === 'document' ? JSON.stringify(value) : value;
      });
    });
    return JSON.stringify(rows);
  }
}
