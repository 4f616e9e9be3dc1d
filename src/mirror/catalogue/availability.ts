import { hash } from 'node:crypto';
import {
  type AvailabilityAnswer,
  cadenceOfDay,
  type DayForm,
  soldOut,
  summarise,
  type Tiers,
  tierStarts,
} from '../../domain/catalogue/availability.ts';
import type { ChangeKind } from '../../domain/changes/change.ts';
import { type DueReason, mayReplace } from '../../domain/schedule/record.ts';
import { addDays, datesBetween, daysBetween } from '../../domain/time/dates.ts';
import type { Database } from '../../sqlite/database-file.ts';
import type { ChangeTable } from '../changes/changes.ts';
import { param, prepare, query, namedUpsert as upsert } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import type { BookableTable } from './bookable.ts';

type Day = Tables['day'];
type Span = Tables['availability_span'];
type StoredDay = Pick<Day, 'date' | 'hash' | 'document_id' | 'available' | 'lowest_price'>;
type OfProduct = Pick<Day, 'product_id' | 'currency'>;

/** When an answer was asked for and on which day of the venue: what its spans are stored with. */
export interface WindowRead {
  readonly product_id: number;
  readonly currency: string;
  readonly from: string;
  readonly sent_at: number;
  readonly now: number;
  readonly hash: string;
  readonly today: string;
  readonly tiers: Tiers;
  /** Why it was read; and whether dates of its window were read before: those that a first read adds are not told of in the change feed. */
  readonly reason: DueReason;
  readonly first: 'first' | 'again';
}

/** Days, their slots and the spans that say when each was read. Every function runs inside the caller's transaction. */
export interface AvailabilityTables {
  /** Stores an answer; days whose compact form is the stored one are not written. `changed`: days that differ from what was stored, `added`: days that had no row. */
  store(read: WindowRead, answer: AvailabilityAnswer): { changed: number; added: number };
  /** The same bytes came again: only the spans of that answer are marked. */
  confirm(read: Pick<WindowRead, 'product_id' | 'currency' | 'hash' | 'sent_at'>): void;
  /** Whether a date of the range, both ends included, was ever read. */
  wasRead(of: OfProduct, from: string, to: string): boolean;
  /** The variants that the stored answers of a product speak of, over all its windows. */
  variantIds(product_id: number): Set<number>;
  /** Forgets dates before the venue's today. */
  prune(of: OfProduct, today: string): void;
}

/** The stored hash of a date without tickets: it has a row and no document. */
const soldOutHash = 'sold-out';

export function availabilityTables(db: Database, changes: ChangeTable, bookable: BookableTable): AvailabilityTables {
  const inRange = query
    .selectFrom('day')
    .select(['date', 'hash', 'document_id', 'available', 'lowest_price'])
    .where('product_id', '=', param<number>('product_id'))
    .where('currency', '=', param<string>('currency'))
    .where('date', '>=', param<string>('from'))
    .where('date', '<=', param<string>('to'));
  const storedDays = prepare<OfProduct & { from: string; to: string }, StoredDay>(db, inRange);
  const putDay = prepare<Day>(
    db,
    upsert(
      'day',
      ['product_id', 'currency', 'date'],
      ['available', 'lowest_price', 'max_tickets', 'availability', 'hash', 'document_id'],
    ),
  );
  const addDocument = db.prepare<[string]>('INSERT INTO day_document (document) VALUES (?)');
  const putDocument = db.prepare<[string, number]>('UPDATE day_document SET document = ? WHERE document_id = ?');
  const dropDocument = db.prepare<[number]>('DELETE FROM day_document WHERE document_id = ?');
  const pastDocuments = db.prepare<[number, string, string]>(
    'DELETE FROM day_document WHERE document_id IN (SELECT document_id FROM day WHERE product_id = ? AND currency = ? AND date < ?)',
  );
  const dropPastDays = db.prepare<[number, string, string]>(
    'DELETE FROM day WHERE product_id = ? AND currency = ? AND date < ?',
  );
  const dropPastSpans = db.prepare<[number, string, string]>(
    'DELETE FROM availability_span WHERE product_id = ? AND currency = ? AND to_date < ?',
  );
  const overlapping = db.prepare<[number, string, string, string], Span>(
    'SELECT * FROM availability_span WHERE product_id = ? AND currency = ? AND from_date <= ? AND to_date >= ?',
  );
  const dropSpan = db.prepare<[number, string, string]>(
    'DELETE FROM availability_span WHERE product_id = ? AND currency = ? AND from_date = ?',
  );
  const putSpan = prepare<Span>(
    db,
    upsert(
      'availability_span',
      ['product_id', 'currency', 'from_date'],
      ['to_date', 'checked_at', 'stale_at', 'body_hash', 'max_tickets_per_order', 'variant_ids'],
    ),
  );
  const markSpans = db.prepare<{ product_id: number; currency: string; hash: string; sent_at: number }>(
    `UPDATE availability_span SET stale_at = stale_at - checked_at + @sent_at, checked_at = @sent_at
     WHERE product_id = @product_id AND currency = @currency AND body_hash = @hash AND checked_at <= @sent_at`,
  );
  const spanVariants = db
    .prepare<[number], string>('SELECT variant_ids FROM availability_span WHERE product_id = ?')
    .pluck() as unknown as {
    all(product_id: number): string[];
  };

  function store(read: WindowRead, answer: AvailabilityAnswer): { changed: number; added: number } {
    const { product_id, currency, from } = read;
    const to = answer.covered_to;
    const counts = { changed: 0, added: 0 };
    if (to < from) return counts;
    const newer = makeRoom(read, to);
    const stored = new Map(storedDays.all({ product_id, currency, from, to }).map((day) => [day.date, day]));
    let run: string[] = [];
    const variant_ids = JSON.stringify(answer.variants.map(({ variant_id }) => variant_id));
    const closeRun = () => {
      if (run.length > 0)
        putSpans(read, answer.max_tickets_per_order, variant_ids, run[0] as string, run.at(-1) as string);
      run = [];
    };
    for (const date of datesBetween(from, to)) {
      if (newer.some((span) => span.from_date <= date && date <= span.to_date)) {
        closeRun();
        continue;
      }
      run.push(date);
      const before = stored.get(date);
      if (!storeDay({ product_id, currency, date }, answer.days.get(date), before, read)) continue;
      if (before === undefined) counts.added += 1;
      else counts.changed += 1;
    }
    closeRun();
    return counts;
  }

  function storeDay(
    key: Pick<Day, 'product_id' | 'currency' | 'date'>,
    form: DayForm | undefined,
    stored: StoredDay | undefined,
    read: WindowRead,
  ): boolean {
    const document = form === undefined ? null : JSON.stringify(form);
    const digest = document === null ? soldOutHash : hash('sha256', document, 'base64url').slice(0, 16);
    if (stored?.hash === digest) return false;
    let document_id = stored?.document_id ?? null;
    if (document === null) {
      if (document_id !== null) dropDocument.run(document_id);
      document_id = null;
    } else if (document_id === null) {
      document_id = Number(addDocument.run(document).lastInsertRowid);
    } else {
      putDocument.run(document, document_id);
    }
    const { available, ...summary } = form === undefined ? soldOut : summarise(form);
    const next = { available: available ? (1 as const) : (0 as const), lowest_price: summary.lowest_price };
    putDay.run({ ...key, ...summary, ...next, hash: digest, document_id });
    bookable.put(key, form ?? null, read.today);
    // A stored date is told of even in a first read: a product that returns has new records over old rows.
    if (stored !== undefined || read.first === 'again') tellDay(key, stored, next, read);
    return true;
  }

  /** State and lowest price are what the change feed tells of a date. */
  function tellDay(
    { product_id, currency, date }: Pick<Day, 'product_id' | 'currency' | 'date'>,
    stored: StoredDay | undefined,
    next: Pick<Day, 'available' | 'lowest_price'>,
    read: WindowRead,
  ): void {
    const kind = dayChange(stored, next);
    if (kind === null) return;
    const prices = { old: stored?.lowest_price ?? null, new: next.lowest_price };
    const states = { old: stored === undefined ? null : stateOf(stored), new: stateOf(next) };
    const detail = { currency, ...(kind === 'price_changed' ? prices : states) };
    changes.add({ product_id, kind, date, detail }, read);
  }

  /** Takes the range out of older spans, keeping what lies outside it; returns the spans that are newer and stay. */
  function makeRoom({ product_id, currency, from, sent_at, now }: WindowRead, to: string): Span[] {
    const newer: Span[] = [];
    for (const span of overlapping.all(product_id, currency, to, from)) {
      if (!mayReplace(span.checked_at, sent_at, now)) {
        newer.push(span);
        continue;
      }
      dropSpan.run(product_id, currency, span.from_date);
      if (span.from_date < from) putSpan.run({ ...span, to_date: addDays(from, -1) });
      if (span.to_date > to) putSpan.run({ ...span, from_date: addDays(to, 1) });
    }
    return newer;
  }

  /** One span a tier, each stale after its own cadence. */
  function putSpans(
    read: WindowRead,
    max_tickets_per_order: number | null,
    variant_ids: string,
    from: string,
    to: string,
  ): void {
    const { product_id, currency, sent_at, hash: body_hash, today, tiers } = read;
    const first = daysBetween(today, from);
    const last = daysBetween(today, to);
    const starts = [first, ...tierStarts(tiers).filter((day) => day > first && day <= last)];
    for (const [index, start] of starts.entries()) {
      const end = (starts[index + 1] ?? last + 1) - 1;
      putSpan.run({
        product_id,
        currency,
        from_date: addDays(today, start),
        to_date: addDays(today, end),
        checked_at: sent_at,
        stale_at: sent_at + cadenceOfDay(tiers, start),
        body_hash,
        max_tickets_per_order,
        variant_ids,
      });
    }
  }

  return {
    store,
    confirm: ({ product_id, currency, hash: body, sent_at }) => {
      markSpans.run({ product_id, currency, hash: body, sent_at });
    },
    wasRead: ({ product_id, currency }, from, to) => overlapping.get(product_id, currency, to, from) !== undefined,
    variantIds: (product_id) => new Set(spanVariants.all(product_id).flatMap((ids) => JSON.parse(ids) as number[])),
    prune: ({ product_id, currency }, today) => {
      pastDocuments.run(product_id, currency, today);
      dropPastDays.run(product_id, currency, today);
      bookable.prune({ product_id, currency }, today);
      dropPastSpans.run(product_id, currency, today);
    },
  };
}

function dayChange(stored: StoredDay | undefined, next: Pick<Day, 'available' | 'lowest_price'>): ChangeKind | null {
  if (stored === undefined) return next.available === 1 ? 'date_added' : null;
  if (stored.available !== next.available) return next.available === 1 ? 'date_back' : 'date_sold_out';
  return next.available === 1 && stored.lowest_price !== next.lowest_price ? 'price_changed' : null;
}

function stateOf({ available, lowest_price }: Pick<Day, 'available' | 'lowest_price'>) {
  return { state: available === 1 ? 'available' : 'sold_out', lowest_price };
}
