import { setImmediate } from 'node:timers/promises';
import { soldBy, weightOf } from '../../domain/catalogue/category.ts';
import { readsPerPeriod } from '../../domain/schedule/cadence.ts';
import {
  addDemand,
  clearingPrice,
  type Demand,
  noDemand,
  noExtraCalls,
  type Priced,
  pricesAround,
} from '../../domain/schedule/price.ts';
import type { AdaptiveRecord } from '../../mirror/schedule/record-reads.ts';
import type { Ports } from './context.ts';
import { cadenceOf } from './reschedule.ts';
import { believed } from './settle.ts';

/** How long a price is valid: rates of change move slowly, and a wrong price corrects itself each time. */
const holdsMs = 6 * 3_600_000;
const dayMs = 86_400_000;
/** The number of records between two turns of the event loop: a millisecond or two. */
const slice = 100;
/** The largest share of the ceiling for extra reads: the rest is for what cannot wait. */
const mostOfCeiling = 0.7;

/**
 * Computes the price of a call when it is six hours old: finds, a slice of availability records at a time, the price at
 * which together they demand as many calls as may be spent (price.ts).
 */
export async function findPrice(ports: Ports, signal: AbortSignal): Promise<void> {
  const { mirror, clock, policy } = ports;
  const due_at = priceDueAt(ports);
  // A price from the future was set by a wrong clock.
  const ahead = (due_at ?? 0) - clock.now();
  if (policy.adaptive === null || due_at === null || (ahead > 0 && ahead < 2 * holdsMs)) return;
  const known = mirror.budget.price();
  let demand: Demand = noDemand(pricesAround(known === noExtraCalls ? null : known));
  let cursor: AdaptiveRecord | null = null;
  for (;;) {
    const records: AdaptiveRecord[] = mirror.records.adaptiveAfter(cursor, slice);
    if (signal.aborted) return;
    if (records.length === 0) break;
    demand = addDemand(
      demand,
      records.map((record) => pricedOf(ports, record)),
    );
    cursor = records.at(-1) ?? null;
    await setImmediate();
  }
  const price = clearingPrice(demand, policy.adaptive.extra, (policy.ceiling * mostOfCeiling) / 1000);
  mirror.transaction(() => mirror.budget.savePrice(price, clock.now()));
}

/** Returns when the price of a call is computed next; null: none is needed, or not before the fill has ended. */
export function priceDueAt({ mirror, policy }: Pick<Ports, 'mirror' | 'policy'>): number | null {
  if (policy.adaptive === null || mirror.filledAt() === null) return null;
  const priced_at = mirror.budget.pricedAt();
  return priced_at === null ? 0 : priced_at + holdsMs;
}

/** Returns a record as the price computation needs it. */
function pricedOf({ policy, clock }: Pick<Ports, 'policy' | 'clock'>, record: AdaptiveRecord): Priced {
  const own = policy.of(record.category);
  return {
    volatility: believed(record),
    weight: weightOf(own.weight, soldBy(clock.now(), record.sold, record.sold_at)),
    cap: dayMs / readsPerPeriod(dayMs, cadenceOf(own, record, null)),
    floor: policy.adaptive?.floor ?? 0,
  };
}
