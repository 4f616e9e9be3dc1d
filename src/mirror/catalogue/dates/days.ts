import { hash } from 'node:crypto';
import { type DayForm, isNoticed, otherOffers, soldOut, summarise } from '../../../domain/catalogue/availability.ts';
import { timesLeft } from '../../../domain/catalogue/passed-times.ts';
import { nothingPrinted, type PrintedPrice, printedOn } from '../../../domain/catalogue/printed-price.ts';
import type { ChangeKind } from '../../../domain/changes/change.ts';
import { minutesPassed } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable } from '../../changes/changes.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { BookableTable, DateSetting } from './bookable.ts';
import type { OfProduct, WindowRead } from './window.ts';

type Day = Tables['_day'];
export type StoredDay = Pick<
  Day,
  'date' | 'hash' | 'document_id' | 'available' | 'lowest_price' | 'lowest_adult_price' | 'price_variant_type'
>;
type DayKey = Pick<Day, 'product_id' | 'currency' | 'date'>;

/** `most`: how many tickets one may order; null: the service names no limit. */
type DayRead = WindowRead & DateSetting & { readonly most: number | null };

/** What a date is beside the stored one. */
interface DayStored {
  /**
   * `counts` if only the tickets left differ. `offers` if no change of its state tells that times or prices differ, or
   * that it has its first row.
   */
  readonly differs: 'nothing' | 'counts' | 'state' | 'offers';
  /** Whether a shopper would notice it who saw the stored one; of today only by what has not begun. */
  readonly noticed: boolean;
}

const same: DayStored = { differs: 'nothing', noticed: false };

/** Dates with what is offered on them. */
export interface DayTable {
  /** From one date to another, both included. */
  stored(of: OfProduct, from: string, to: string): StoredDay[];
  /** Returns how many dates of a range can be bought, and their lowest price in minor units; null: none is known. */
  shown(of: OfProduct, from: string, to: string): { readonly dates: number; readonly lowest_price: number | null };
  /** One whose compact form is the stored one is not written. */
  store(key: DayKey, form: DayForm | undefined, stored: StoredDay | undefined, read: DayRead): DayStored;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
}

/** The stored hash of a date without tickets: it has a row and no document. */
const soldOutHash = 'sold-out';

export function dayTable(db: Writes, changes: ChangeTable, bookable: BookableTable): DayTable {
  const inRange = db.rows(({ product_id, currency, from, to }: Bound<OfProduct & { from: string; to: string }>) =>
    query
      .selectFrom('_day')
      .select(['date', 'hash', 'document_id', 'available', 'lowest_price', 'lowest_adult_price', 'price_variant_type'])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '>=', from)
      .where('date', '<=', to),
  );
  const put = db.change(
    upsert(
      '_day',
      ['product_id', 'currency', 'date'],
      [
        'available',
        'lowest_price',
        'lowest_adult_price',
        'price_variant_type',
        'max_tickets',
        'availability',
        'hash',
        'document_id',
      ],
    ),
  );
  const shown = db.rows(({ product_id, currency, from, to }: Bound<OfProduct & { from: string; to: string }>) =>
    query
      .selectFrom('_day')
      .select(({ fn }) => [fn.countAll<number>().as('dates'), fn.min<number | null>('lowest_price').as('lowest_price')])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '>=', from)
      .where('date', '<=', to)
      .where('available', '=', 1),
  );
  const documents = dayDocuments(db);
  const dropBefore = db.change(({ product_id, currency, date }: Bound<DayKey>) =>
    query
      .deleteFrom('_day')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date),
  );

  return {
    stored: (of, from, to) => inRange.all({ ...of, from, to }),
    shown: (of, from, to) => shown.get({ ...of, from, to }) ?? { dates: 0, lowest_price: null },
    store: (key, form, stored, read) => {
      const document = form === undefined ? null : JSON.stringify(form);
      const digest = document === null ? soldOutHash : hash('sha256', document, 'base64url').slice(0, 16);
      if (stored?.hash === digest) return same;
      const before = stored === undefined ? undefined : documents.of(stored.document_id);
      const offersDiffer = stored === undefined || otherOffers(before, form);
      const document_id = documents.replace(stored?.document_id ?? null, document);
      const { available, ...summary } = form === undefined ? soldOut : summarise(form);
      const next = { available: available ? (1 as const) : (0 as const), lowest_price: summary.lowest_price };
      const printed = form === undefined ? nothingPrinted : printedOn(form, read.types);
      put.run({ ...key, ...summary, ...printed, ...next, hash: digest, document_id });
      bookable.put(key, form ?? null, { timezone: read.timezone, types: read.types, known: stored !== undefined });
      // A stored date is told of even in a first read: a product that returns has new records over old rows.
      const told =
        stored !== undefined || read.first === 'again' ? tellDay(changes, key, { stored, next, read }) : null;
      const noticed = stored !== undefined && isSeen(key.date, before, form, read);
      if (told !== null && told !== 'price_changed') return { differs: 'state', noticed };
      return { differs: offersDiffer || otherPrice(stored, printed) ? 'offers' : 'counts', noticed };
    },
    prune: ({ product_id, currency }, date) => {
      documents.dropBefore({ product_id, currency }, date);
      dropBefore.run({ product_id, currency, date });
      bookable.prune({ product_id, currency }, date);
    },
  };
}

/** Returns the documents of dates, apart from what is searched by. */
function dayDocuments(db: Writes) {
  const one = db.values(({ document_id }: Bound<{ document_id: number }>) =>
    query.selectFrom('_day_document').select('document').where('document_id', '=', document_id),
  );
  const add = db.change(({ document }: Bound<{ document: string }>) =>
    query.insertInto('_day_document').values({ document }),
  );
  const put = db.change(({ document, document_id }: Bound<Tables['_day_document']>) =>
    query.updateTable('_day_document').set({ document }).where('document_id', '=', document_id),
  );
  const drop = db.change(({ document_id }: Bound<{ document_id: number }>) =>
    query.deleteFrom('_day_document').where('document_id', '=', document_id),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<DayKey>) =>
    query.deleteFrom('_day_document').where('document_id', 'in', (of) =>
      of
        .selectFrom('_day')
        .select((day) => day.ref('document_id').$notNull().as('document_id'))
        .where('product_id', '=', product_id)
        .where('currency', '=', currency)
        .where('date', '<', date),
    ),
  );
  return {
    of: (document_id: number | null): DayForm | undefined => {
      const document = document_id === null ? undefined : one.get({ document_id });
      return document === undefined ? undefined : (JSON.parse(document) as DayForm);
    },
    /** Returns the document's number; null: there is none. */
    replace: (document_id: number | null, document: string | null): number | null => {
      if (document === null) {
        if (document_id !== null) drop.run({ document_id });
        return null;
      }
      if (document_id === null) return Number(add.run({ document }).lastInsertRowid);
      put.run({ document, document_id });
      return document_id;
    },
    dropBefore: (of: OfProduct, date: string) => {
      dropBefore.run({ ...of, date });
    },
  };
}

function isSeen(date: string, before: DayForm | undefined, after: DayForm | undefined, read: DayRead): boolean {
  if (date > read.today) return isNoticed(before, after, read.most);
  const passed = minutesPassed(read.timezone, date, read.now);
  return isNoticed(timesLeft(before, passed), timesLeft(after, passed), read.most);
}

/** Tells whether another price is printed: the cheapest time of an adult may sell out while a child's is the lowest. */
function otherPrice(stored: StoredDay | undefined, { lowest_adult_price, price_variant_type }: PrintedPrice): boolean {
  return stored?.lowest_adult_price !== lowest_adult_price || stored?.price_variant_type !== price_variant_type;
}

/** State and lowest price are what the older kinds of the change feed tell of a date. Returns what it told. */
function tellDay(
  changes: ChangeTable,
  { product_id, currency, date }: DayKey,
  day: {
    readonly stored: StoredDay | undefined;
    readonly next: Pick<Day, 'available' | 'lowest_price'>;
    readonly read: WindowRead;
  },
): ChangeKind | null {
  const { stored, next, read } = day;
  const kind = dayChange(stored, next);
  if (kind === null) return null;
  const prices = { old: stored?.lowest_price ?? null, new: next.lowest_price };
  const states = { old: stored === undefined ? null : stateOf(stored), new: stateOf(next) };
  const detail = { currency, ...(kind === 'price_changed' ? prices : states) };
  changes.add({ product_id, kind, date, detail }, read);
  return kind;
}

function dayChange(stored: StoredDay | undefined, next: Pick<Day, 'available' | 'lowest_price'>): ChangeKind | null {
  if (stored === undefined) return next.available === 1 ? 'date_added' : null;
  if (stored.available !== next.available) return next.available === 1 ? 'date_back' : 'date_sold_out';
  return next.available === 1 && stored.lowest_price !== next.lowest_price ? 'price_changed' : null;
}

function stateOf({ available, lowest_price }: Pick<Day, 'available' | 'lowest_price'>) {
  return { state: available === 1 ? 'available' : 'sold_out', lowest_price };
}
