import { existsSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { expectedRows, type Row } from '../oracle/expected.ts';
import type { Observation } from './history.ts';

const day = 86_400_000;
const texts = ['title', 'tagline', 'description', 'sale_status', 'from_price'] as const;
const own = ['must_know', 'good_to_know'] as const;

/** Dates that have begun somewhere lose their times by the clock alone: nobody looks at them. */
const firstDate = (now: number) => new Date(now + 2 * day).toISOString().slice(0, 10);
const dayValue = ({ state, lowest_price, max_tickets }: Row) => JSON.stringify([state, lowest_price, max_tickets]);
const imagesValue = (rows: readonly Row[]) => JSON.stringify(rows.map(({ image_key, credit }) => [image_key, credit]));
const labels = (rows: readonly Row[]) =>
  JSON.stringify(
    rows
      .filter(({ source }) => source === 'variants')
      .map(({ variant_id, label }) => [variant_id, label])
      .sort(),
  );

/** What the service says now of everything that readers look at: derived from its own state alone. */
export function factsOf(sandbox: Sandbox, now: number, horizon: number): Map<string, string> {
  const question = { language: 'en', currency: 'EUR', now };
  const facts = new Map<string, string>();
  for (const { id } of sandbox.products()) {
    const state = sandbox.state(id, { ...question, horizon });
    if (state === null) continue;
    facts.set(`${id} is visible`, String(state.visible));
    if (!state.visible) continue;
    const rows = expectedRows(state, question);
    const [product] = rows.products;
    const [checkout] = rows.checkout_information;
    for (const column of texts) facts.set(`${id} ${column}`, String(product?.[column]));
    for (const column of own) facts.set(`${id} ${column}`, String(checkout?.[column]));
    facts.set(`${id} variants`, labels(rows.variants));
    facts.set(`${id} images`, imagesValue(rows.images));
    for (const row of rows.availability_days) facts.set(`${id} ${row.date}`, dayValue(row));
  }
  return facts;
}

/** Somebody who has a file open and looks at all of it now and then. */
export interface MirrorReader extends Disposable {
  look(now: number): void;
  /** The file was put in the place of another one: it is opened again. */
  reopen(): void;
  /** The mirror is lost: another one takes its place, under another feed. */
  another(): void;
}

export interface Line {
  readonly seq: number;
  readonly product_id: number;
  readonly kind: string;
  readonly detail: string;
}

export function mirrorReader(
  who: string,
  path: () => string,
  { seen, wrong, kinds }: { seen: Observation[]; wrong(text: string): void; kinds(kind: string): void },
): MirrorReader {
  let open: ReturnType<typeof openMirrorWithClock> | null = null;
  const known = new Set<number>();
  const lines = new Map<number, string>();
  let feed: string | null = null;
  /** How many other mirrors may still come in the place of the one that was looked at. */
  let others = 0;

  function looked(db: Database, now: number): void {
    lookAtItself(db);
    const note = (fact: string, value: string, checked_at: number | null) =>
      void seen.push({ at: now, who, fact, value, checked_at });
    const all = (sql: string) => db.prepare<[], Row>(sql).all();
    const products = all("SELECT * FROM products WHERE language = 'en'");
    const visible = new Set(products.map(({ product_id }) => Number(product_id)));
    for (const id of known) note(`${id} is visible`, String(visible.has(id)), null);
    for (const row of products) {
      known.add(Number(row.product_id));
      // A closure that was announced is not the service's answer yet.
      const hinted = row.disabled_source === 'notification';
      const unclaimed = [hinted && 'sale_status', row.detail_freshness === 'unknown' && 'description'];
      for (const column of texts)
        if (!unclaimed.includes(column)) note(`${row.product_id} ${column}`, String(row[column]), null);
    }
    const fresh = (row: Row, at = row.checked_at) => (row.stale === 0 ? Number(at) : null);
    for (const row of all("SELECT * FROM checkout_information WHERE language = 'en'"))
      for (const column of own) note(`${row.product_id} ${column}`, String(row[column]), fresh(row));
    const dates = all(
      `SELECT * FROM availability_days WHERE currency = 'EUR' AND date >= '${firstDate(now)}' AND state <> 'not_on_sale'`,
    );
    for (const row of dates) note(`${row.product_id} ${row.date}`, dayValue(row), fresh(row));
    const by = (rows: readonly Row[]) => Map.groupBy(rows, ({ product_id }) => Number(product_id));
    const images = by(all('SELECT * FROM images ORDER BY product_id, position'));
    for (const [id, rows] of images) note(`${id} images`, imagesValue(rows), null);
    // Until they were read, only what availability says of them is there, and its source says so.
    for (const [id, rows] of by(all("SELECT * FROM variants WHERE language = 'en'")))
      if (rows.some(({ source }) => source === 'variants')) note(`${id} variants`, labels(rows), null);
    const words = products.flatMap(({ title }) => /word\d+/.exec(String(title)) ?? []);
    for (const word of new Set(words)) {
      const found = all(
        `SELECT DISTINCT product_id FROM product_search WHERE product_search MATCH '${word}' AND language = 'en'`,
      ).map(({ product_id }) => Number(product_id));
      const titled = products.filter(({ title }) => String(title).includes(word)).map(({ product_id }) => product_id);
      for (const id of titled)
        if (!found.includes(Number(id))) wrong(`${who}: ${word} of product ${id} is not found by its title`);
    }
    lookAtFeed(db);
  }

  /** Another feed is another mirror: what was known of the one before is forgotten. */
  function lookAtItself(db: Database): void {
    const feed_id = db.prepare<[], string>('SELECT feed_id FROM mirror_info').pluck().get() ?? null;
    if (feed !== null && feed_id !== feed) {
      if (others === 0) wrong(`${who}: the feed is another one, and nothing was lost`);
      others = 0;
      lines.clear();
      known.clear();
    }
    feed = feed_id;
  }

  function lookAtFeed(db: Database): void {
    const found = db.prepare<[], Line>('SELECT seq, product_id, kind, detail FROM changes ORDER BY seq').all();
    for (const [index, { seq, ...line }] of found.entries()) {
      const said = JSON.stringify(line);
      const before = lines.get(seq);
      if (before === undefined) kinds(line.kind);
      else if (before !== said) wrong(`${who}: change ${seq} was ${before} and is ${said}`);
      if (index > 0 && seq !== (found[index - 1]?.seq ?? 0) + 1) wrong(`${who}: the feed has no change before ${seq}`);
      lines.set(seq, said);
    }
    const newest = found.at(-1)?.seq ?? 0;
    if (lines.size > 0 && newest < Math.max(...lines.keys())) wrong(`${who}: the feed went back to ${newest}`);
  }

  return {
    look: (now) => {
      if (!existsSync(path())) return;
      open ??= openMirrorWithClock(path());
      open.set(now);
      const { db } = open;
      db.transaction(() => looked(db, now))();
    },
    reopen: () => {
      open?.db.close();
      open = null;
    },
    another: () => {
      others += 1;
      open?.db.close();
      open = null;
    },
    [Symbol.dispose]: () => void open?.db.close(),
  };
}
