import { z } from 'zod';
import type { ChangeKind } from '../../feed/change.rules.ts';
import type { DateChange } from '../../feed/changes.store.ts';
import { amount, bit, date, instant, never, type Shaped, text, word } from '../../kernel/values/answer-values.ts';
import type { DateNow, ShownFacts } from '../../mirror/reading.ts';
import type { DueReason } from '../../schedule/record.rules.ts';
import { type ExplainedClaim, explainedClaim } from './explain-claims.ts';

/** The state of a date, and its lowest price. */
const said = z.object({
  /** Null: it was not shown, or nothing reports it. */
  state: z.enum(['available', 'sold_out', 'not_on_sale']).nullable(),
  /** Minor units; null: no price. */
  lowest_price: amount,
});
type Said = Shaped<typeof said>;

const dateSpan = z.object({
  currency: text,
  /** Null: since the date was first read, or since before the change feed begins. */
  from: never,
  /** Null: until now. */
  to: never,
  ...said.shape,
  /** The reason for the read that found it; null: its first read. */
  reason: word<DueReason>().nullable(),
});

/**
 * The history of a date of a product: its states in the mirror, the time of each, and the read behind it. Instants in
 * epoch milliseconds.
 */
export const dateExplanation = z.object({
  product_id: z.int(),
  date,
  /** The date as the views show it now, by currency; empty if it is past or was never read. */
  now: z.array(
    z.object({ currency: text, state: text, available: bit, lowest_price: amount, checked_at: instant, stale: bit }),
  ),
  history: z.array(dateSpan),
  /** The claims of the latest answers about it. */
  claims: z.array(explainedClaim),
});
export type DateExplanation = Shaped<typeof dateExplanation>;
export type DateSpan = DateExplanation['history'][number];

/** Explains a date: evidence of the mirror's state at the time when a shopper viewed it. */
export function explainDate(
  mirror: ShownFacts,
  product_id: number,
  date: string,
  claims: readonly ExplainedClaim[] = [],
): DateExplanation {
  const now = mirror.dateNow(product_id, date);
  const changes = mirror.changes.ofDate(product_id, date);
  const currencies = [
    ...new Set([...now.map(({ currency }) => currency), ...changes.flatMap(({ detail }) => detail.currency ?? [])]),
  ];
  const history = currencies.flatMap((currency) =>
    spansOf(
      currency,
      changes.filter(({ detail }) => detail.currency === undefined || detail.currency === currency),
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
  const current = now === null ? unknown : saidNow(now);
  const [first] = changes;
  if (first === undefined) return now === null ? [] : [{ currency, from: null, to: null, ...current, reason: null }];
  const spans: DateSpan[] = [];
  const before = sideOf(first, 'old');
  if (before !== null) spans.push({ currency, from: null, to: first.at, ...before, reason: null });
  let off: Off = noneOff;
  for (const [index, change] of changes.entries()) {
    const next = changes[index + 1];
    off = { ...off, ...offSince[change.kind] };
    // A reopened date shows what it has become meanwhile, which its next change or the view reports.
    const open = sideOf(change, 'new') ?? (next === undefined ? current : (sideOf(next, 'old') ?? unknown));
    const shown = off.withdrawn ? unknown : off.closed || off.withheld ? notOnSale : open;
    spans.push({ currency, from: change.at, to: next?.at ?? null, ...shown, reason: change.reason });
  }
  return spans.filter(({ from, to }) => from !== to);
}

/** Reasons for which no date of a product is sold. */
interface Off {
  readonly closed: boolean;
  readonly withheld: boolean;
  readonly withdrawn: boolean;
}

const noneOff: Off = { closed: false, withheld: false, withdrawn: false };
const offSince: Partial<Record<ChangeKind, Partial<Off>>> = {
  sale_disabled: { closed: true },
  sale_enabled: { closed: false },
  dates_withheld: { withheld: true },
  dates_released: { closed: false, withheld: false },
  product_withdrawn: { withdrawn: true },
  product_returned: { withdrawn: false },
};

const unknown: Said = { state: null, lowest_price: null };
const notOnSale: Said = { state: 'not_on_sale', lowest_price: null };

function saidNow({ available, lowest_price }: DateNow): Said {
  return { state: available === 1 ? 'available' : 'sold_out', lowest_price };
}

/** Returns the old or new side of a change; null: it has none. A price change has only prices; other kinds have state and price. */
function sideOf({ kind, detail }: DateChange, which: 'old' | 'new'): Said | null {
  const value = detail[which];
  if (kind === 'price_changed') return { state: 'available', lowest_price: value as number | null };
  return (value as Said | null | undefined) ?? null;
}
