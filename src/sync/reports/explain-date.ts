import type { DueReason } from '../../domain/schedule/record.ts';
import type { DateChange } from '../../mirror/changes/changes.ts';
import type { DateNow, MirrorFacts } from '../../mirror/reading.ts';

/** What the file said of a date of a product, from when to when, and which read made it say so. Instants in epoch milliseconds. */
export interface DateExplanation {
  readonly product_id: number;
  readonly date: string;
  /** As the views show it now, by currency; none where it is past, or was never read. */
  readonly now: readonly DateNow[];
  readonly history: readonly DateSpan[];
}

export interface DateSpan {
  readonly currency: string;
  /** Null: since the date was first read, or longer ago than the change feed reaches. */
  readonly from: number | null;
  /** Null: still. */
  readonly to: number | null;
  readonly state: 'available' | 'sold_out' | null;
  /** Minor units; null where there is none. */
  readonly lowest_price: number | null;
  /** Why the read that found it was made; null: its first read. */
  readonly reason: DueReason | null;
}

type Said = Pick<DateSpan, 'state' | 'lowest_price'>;

/** The evidence for an offer: what stood in the file when a shopper looked. */
export function explainDate(mirror: MirrorFacts, product_id: number, date: string): DateExplanation {
  const now = mirror.dateNow(product_id, date);
  const changes = mirror.changes.ofDate(product_id, date);
  const currencies = [
    ...new Set([...now.map(({ currency }) => currency), ...changes.map(({ detail }) => detail.currency)]),
  ];
  const history = currencies.flatMap((currency) =>
    spansOf(
      currency,
      changes.filter(({ detail }) => detail.currency === currency),
      now.find((each) => each.currency === currency) ?? null,
    ),
  );
  return { product_id, date, now, history };
}

function spansOf(currency: string, changes: readonly DateChange[], now: DateNow | null): DateSpan[] {
  const [first] = changes;
  if (first === undefined)
    return now === null ? [] : [{ currency, from: null, to: null, ...saidNow(now), reason: null }];
  const spans: DateSpan[] = [];
  const before = said(first, 'old');
  if (before !== null) spans.push({ currency, from: null, to: first.at, ...before, reason: null });
  for (const [index, change] of changes.entries()) {
    const to = changes[index + 1]?.at ?? null;
    const after = said(change, 'new') ?? { state: null, lowest_price: null };
    spans.push({ currency, from: change.at, to, ...after, reason: change.reason });
  }
  return spans;
}

function saidNow({ available, lowest_price }: DateNow): Said {
  return { state: available === 1 ? 'available' : 'sold_out', lowest_price };
}

/** A price that changed says only prices; the other kinds say state and price. */
function said({ kind, detail }: DateChange, which: 'old' | 'new'): Said | null {
  const value = detail[which];
  if (kind === 'price_changed') return { state: 'available', lowest_price: value as number | null };
  return value as Said | null;
}
