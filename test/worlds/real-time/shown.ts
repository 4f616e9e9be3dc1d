import type { Database } from 'better-sqlite3';
import { openMirrorForReading } from '../../../src/mirror/sql/files.ts';
import { expectedRows } from '../../oracle/expected.ts';
import { limitOf } from '../lies/judge.ts';
import type { RealWorld } from './real-world.ts';

type Row = Readonly<Record<string, unknown>>;

/** Views of the contract that answers can take something away from. */
const queries = {
  availability_days:
    "SELECT product_id, date, state, lowest_price, stale FROM availability_days WHERE currency = 'EUR'",
  products:
    "SELECT product_id, sellable, from_price, tagline, summary, description, stale FROM products WHERE language = 'en'",
  checkout_information:
    "SELECT product_id, must_know, good_to_know, stale FROM checkout_information WHERE language = 'en'",
  variants: "SELECT product_id, source, stale FROM variants WHERE language = 'en'",
} as const;
type Views = Readonly<Record<keyof typeof queries, readonly Row[]>>;

/** A value that a reader sees. Each record is read by one call. */
interface Fact {
  readonly product_id: number;
  readonly record: string;
  readonly of: 'near' | 'far' | 'sale status' | 'from price' | 'texts' | 'variants';
  readonly value: string;
  readonly stale: boolean;
}
type Facts = ReadonlyMap<string, Fact>;

/** The most records of a subject that were wrong and unmarked at one time, and how many may be. */
interface Subject {
  readonly able: number;
  readonly limit: number;
  at_once: number;
}

const none = 'none';
const dayMs = 86_400_000;
/** Dates of one answer. */
const windowDays = 31;

/**
 * A reader of the mirror with a connection of its own. A value is wrong if it is neither what was shown before the lie began
 * nor what is so at the service.
 */
export class Shown implements Disposable {
  readonly subjects: ReadonlyMap<string, Subject>;
  /** The largest shares that were wrong and unmarked, and for how many seconds anything was. */
  cells = 0;
  products = 0;
  seconds = 0;
  /** The most products whose wrong values are all marked as stale. */
  marked = 0;
  readonly #world: RealWorld;
  readonly #db: Database;
  readonly #today = Math.floor(Date.now() / dayMs);
  readonly #before: Facts;
  readonly #cells: number;
  readonly #truths = new Map<number, { readonly at: number; readonly facts: Facts }>();
  #looked = Date.now();

  constructor(world: RealWorld) {
    this.#world = world;
    this.#db = openMirrorForReading(world.mirror);
    this.#before = this.#shown();
    const able = [...this.#before.values()].filter(({ value }) => value !== none);
    this.#cells = able.filter(isDate).length;
    const subjects = able.flatMap((fact) =>
      (isDate(fact) ? [`${fact.of} dates`, `${fact.of} prices`] : [fact.of]).map((subject) => ({ ...fact, subject })),
    );
    this.subjects = new Map(
      [...Map.groupBy(subjects, ({ subject }) => subject)].map(([subject, facts]) => {
        const records = new Set(facts.map(({ record }) => record)).size;
        return [subject, { able: records, limit: limitOf(records), at_once: 0 }];
      }),
    );
  }

  look(): void {
    const [now, wrong] = [Date.now(), this.#wrong()];
    const unmarked = wrong.filter(({ stale }) => !stale);
    for (const [name, subject] of this.subjects) {
      const records = unmarked.filter((fact) => subjectOf(fact) === name).map(({ record }) => record);
      subject.at_once = Math.max(subject.at_once, new Set(records).size);
    }
    const products = idsOf(unmarked);
    this.cells = Math.max(this.cells, unmarked.filter(isDate).length / this.#cells);
    this.products = Math.max(this.products, products / this.#world.ids.length);
    this.marked = Math.max(this.marked, idsOf(wrong) - products);
    if (products > 0) this.seconds += (now - this.#looked) / 1000;
    this.#looked = now;
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #wrong(): Fact[] {
    const shown = this.#shown();
    const wrong = [...this.#before].flatMap(([key, before]) => {
      // A row that is gone says nothing, nor that it is stale.
      const fact = shown.get(key) ?? { ...before, value: none, stale: false };
      return fact.value === before.value || fact.value === this.#true(fact.product_id).get(key)?.value ? [] : [fact];
    });
    // A product that is off sale shows no dates: they are not counted a second time.
    const closed = new Set(wrong.filter((fact) => fact.of === 'sale status').map(({ product_id }) => product_id));
    return wrong.filter((fact) => !(isDate(fact) && closed.has(fact.product_id)));
  }

  #shown(): Facts {
    const rows = Object.entries(queries).map(([view, query]) => [view, this.#db.prepare(query).all()]);
    return this.#factsOf(Object.fromEntries(rows) as Views);
  }

  /** Returns what is so of a product: dates sell out as time passes. */
  #true(product_id: number): Facts {
    const known = this.#truths.get(product_id);
    if (known !== undefined && Date.now() - known.at < 10_000) return known.facts;
    const question = { language: 'en', currency: 'EUR', now: Date.now() };
    const facts = this.#factsOf(expectedRows(this.#world.state(product_id), question));
    this.#truths.set(product_id, { at: Date.now(), facts });
    return facts;
  }

  #factsOf({ availability_days, products, checkout_information, variants }: Views): Facts {
    const facts = new Map<string, Fact>();
    const add = (of: Fact['of'], { product_id, stale }: Row, record: string, value: unknown, key = record) =>
      facts.set(`${of} ${product_id} ${key}`, {
        product_id: Number(product_id),
        record: `${product_id} ${record}`,
        of,
        value: value === null ? none : String(value),
        stale: stale === 1,
      });
    for (const row of availability_days) {
      const window = Math.floor((Date.parse(String(row.date)) / dayMs - this.#today) / windowDays);
      const value = row.state === 'available' ? String(row.lowest_price) : none;
      add(window <= 0 ? 'near' : 'far', row, String(window), value, String(row.date));
    }
    for (const row of products) {
      add('sale status', row, '', row.sellable === 1 ? 1 : null);
      add('from price', row, '', row.from_price);
      add('texts', row, 'product', textsOf(row.tagline, row.summary, row.description));
    }
    for (const row of checkout_information) add('texts', row, 'checkout', textsOf(row.must_know, row.good_to_know));
    const listed = variants.filter(({ source }) => source === 'variants');
    for (const rows of Map.groupBy(listed, ({ product_id }) => product_id).values())
      add('variants', rows[0] as Row, '', rows.length);
    return facts;
  }
}

const isDate = ({ of }: Fact) => of === 'near' || of === 'far';
const subjectOf = (fact: Fact) => (isDate(fact) ? `${fact.of} ${fact.value === none ? 'dates' : 'prices'}` : fact.of);
const idsOf = (facts: readonly Fact[]) => new Set(facts.map(({ product_id }) => product_id)).size;

function textsOf(...texts: readonly unknown[]): string | null {
  return texts.every((text) => text === null) ? null : JSON.stringify(texts);
}
