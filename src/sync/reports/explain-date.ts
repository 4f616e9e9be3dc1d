import type { DueReason } from '../../domain/schedule/record.ts';
import type { DateChange } from '../../mirror/changes/changes.ts';
import type { DateNow, ShownFacts } from '../../mirror/reading.ts';
import type { Explanation } from './explain.ts';
import type { ExplainedClaim } from './explain-claims.ts';

/**
 * The history of a date of a product: its states in the mirror, the time of each, and the read behind it. Instants in
 * epoch milliseconds.
 */
export interface DateExplanation {
  readonly product_id: number;
  readonly date: string;
  /** The date as the views show it now, by currency; empty if it is past or was never read. */
  readonly now: readonly DateNow[];
  readonly history: readonly DateSpan[];
  /** The claims of the latest answers about it. */
  readonly claims: readonly ExplainedClaim[];
}

export interface DateSpan {
  readonly currency: string;
  /** Null: since the date was first read, or since before the change feed begins. */
  readonly from: number | null;
  /** Null: until now. */
  readonly to: number | null;
  readonly state: 'available' | 'sold_out' | null;
  /** Minor units; null: no price. */
  readonly lowest_price: number | null;
  /** The reason for the read that found it; null: its first read. */
  readonly reason: DueReason | null;
}

type Said = Pick<DateSpan, 'state' | 'lowest_price'>;

/** Explains a date: evidence of the mirror's state at the time when a shopper viewed it. */
export function explainDate(
  mirror: ShownFacts,
  { product_id, claims }: Pick<Explanation, 'product_id' | 'claims'>,
  date: string,
): DateExplanation {
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
  return {
    product_id,
    date,
    now,
    history,
    claims: claims.filter(({ from, to }) => from !== null && to !== null && from <= date && date <= to),
  };
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

/** Returns the old or new side of a change. A price change has only prices; other kinds have state and price. */
function said({ kind, detail }: DateChange, which: 'old' | 'new'): Said | null {
  const value = detail[which];
  if (kind === 'price_changed') return { state: 'available', lowest_price: value as number | null };
  return value as Said | null;
}
