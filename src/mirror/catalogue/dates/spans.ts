import { instant } from '../../../clock.ts';
import { cadenceOfDay, tierStarts } from '../../../domain/catalogue/availability.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import { addDays, daysBetween } from '../../../domain/time/dates.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { OfProduct, WindowRead } from './window.ts';

type Span = Tables['_availability_span'];
type SpanKey = OfProduct & Pick<Span, 'from_date'>;

/** What an answer says of all its dates. */
export type SpanFacts = Pick<Span, 'max_tickets_per_order' | 'variant_ids'>;

/** What there was in a range of dates. */
interface Room {
  /** Spans that are newer, and stay. */
  readonly newer: readonly Span[];
  /** Returns how many tickets an order could have on a date, as far as it had been read; undefined: it had not. */
  limitBefore(date: string): number | null | undefined;
}

/** When each date was read: ranges of dates that do not overlap. */
export interface SpanTable {
  /** Takes the range out of older spans, keeping what lies outside it. */
  makeRoom(read: WindowRead, to: string): Room;
  /** Stores one span a tier, each stale after its own cadence. */
  put(read: WindowRead, facts: SpanFacts, range: { from: string; to: string }): void;
  /** The same bytes came again: only the spans of that answer are marked. */
  confirm(read: Pick<WindowRead, 'product_id' | 'currency' | 'hash' | 'sent_at'>): void;
  /** Tells whether a date of the range, both ends included, was ever read. */
  wasRead(of: OfProduct, from: string, to: string): boolean;
  /** Returns the variants that the stored answers of a product speak of, over all its windows. */
  variantIds(product_id: number): Set<number>;
  /** Forgets what ended before a date. */
  prune(of: OfProduct, date: string): void;
}

export function spanTable(db: Writes): SpanTable {
  const overlapping = spansOver(db);
  const drop = db.change(({ product_id, currency, from_date }: Bound<SpanKey>) =>
    query
      .deleteFrom('_availability_span')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('from_date', '=', from_date),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<OfProduct & { date: string }>) =>
    query
      .deleteFrom('_availability_span')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('to_date', '<', date),
  );
  const putOne = db.change(
    upsert(
      '_availability_span',
      ['product_id', 'currency', 'from_date'],
      ['to_date', 'checked_at', 'stale_at', 'held_at', 'body_hash', 'max_tickets_per_order', 'variant_ids'],
    ),
  );
  return {
    ...asked(db),
    makeRoom: ({ product_id, currency, from, sent_at, now }, to) => {
      const newer: Span[] = [];
      const spans = overlapping.all({ product_id, currency, from, to });
      for (const span of spans) {
        if (!mayReplace(span.checked_at, sent_at, now)) {
          newer.push(span);
          continue;
        }
        drop.run(span);
        if (span.from_date < from) putOne.run({ ...span, to_date: addDays(from, -1) });
        if (span.to_date > to) putOne.run({ ...span, from_date: addDays(to, 1) });
      }
      const limitBefore = (date: string) =>
        spans.find((span) => span.from_date <= date && date <= span.to_date)?.max_tickets_per_order;
      return { newer, limitBefore };
    },
    put: (read, facts, range) => {
      for (const span of spansOf(read, facts, range)) putOne.run(span);
    },
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
    },
  };
}

function spansOver(db: Writes) {
  return db.rows(({ product_id, currency, from, to }: Bound<OfProduct & { from: string; to: string }>) =>
    query
      .selectFrom('_availability_span')
      .selectAll()
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('from_date', '<=', to)
      .where('to_date', '>=', from),
  );
}

/** Returns what concerns stored spans as they are. */
function asked(db: Writes): Pick<SpanTable, 'confirm' | 'wasRead' | 'variantIds'> {
  const overlapping = spansOver(db);
  const mark = db.change((bound: Bound<OfProduct & Pick<WindowRead, 'hash' | 'sent_at'>>) =>
    query
      .updateTable('_availability_span')
      .set((of) => ({
        stale_at: of(of('stale_at', '-', of.ref('checked_at')), '+', bound.sent_at),
        checked_at: bound.sent_at,
        held_at: null,
      }))
      .where('product_id', '=', bound.product_id)
      .where('currency', '=', bound.currency)
      .where('body_hash', '=', bound.hash)
      .where('checked_at', '<=', bound.sent_at),
  );
  const variants = db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_availability_span').select('variant_ids').where('product_id', '=', product_id),
  );

  return {
    confirm: (read) => {
      mark.run(read);
    },
    wasRead: ({ product_id, currency }, from, to) => overlapping.get({ product_id, currency, from, to }) !== undefined,
    variantIds: (product_id) =>
      new Set(variants.all({ product_id }).flatMap((variant_ids) => JSON.parse(variant_ids) as number[])),
  };
}

/** One span a tier. */
function spansOf(read: WindowRead, facts: SpanFacts, { from, to }: { from: string; to: string }): Span[] {
  const { product_id, currency, sent_at, hash: body_hash, today, tiers } = read;
  const first = daysBetween(today, from);
  const last = daysBetween(today, to);
  const starts = [first, ...tierStarts(tiers).filter((day) => day > first && day <= last)];
  return starts.map((start, index) => ({
    product_id,
    currency,
    from_date: addDays(today, start),
    to_date: addDays(today, (starts[index + 1] ?? last + 1) - 1),
    checked_at: sent_at,
    stale_at: instant(sent_at + cadenceOfDay(tiers, start)),
    held_at: null,
    body_hash,
    ...facts,
  }));
}
