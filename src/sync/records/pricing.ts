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

/** A price holds for six hours: rates of change move slowly, and a price that is off moves by itself each time. */
const holdsMs = 6 * 3_600_000;
const dayMs = 86_400_000;
/** So many records between two turns of the event loop: a millisecond or two. */
const slice = 100;
/** Of the ceiling: the rest is for what cannot wait. */
const mostOfCeiling = 0.7;

/**
 * Sets the price of a call again when it is six hours old: asks every availability record what it would ask for, a slice
 * at a time, and finds the price at which together they ask for what may be spent (price.ts).
 */
export async function findPrice(ports: Ports, signal: AbortSignal): Promise<void> {
  const { mirror, clock, policy } = ports;
  const due_at = priceDueAt(ports);
  // A price of the future was set by a clock that was wrong.
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

/** Returns when the price of a call is to be found next; null: none is needed, or not before the fill has ended. */
export function priceDueAt({ mirror, policy }: Pick<Ports, 'mirror' | 'policy'>): number | null {
  if (policy.adaptive === null || mirror.filledAt() === null) return null;
  const priced_at = mirror.budget.pricedAt();
  return priced_at === null ? 0 : priced_at + holdsMs;
}

/** A record as the price sees it. */
function pricedOf({ policy, clock }: Pick<Ports, 'policy' | 'clock'>, record: AdaptiveRecord): Priced {
  const own = policy.of(record.category);
  return {
    volatility: believed(record),
    weight: weightOf(own.weight, soldBy(clock.now(), record.sold, record.sold_at)),
    cap: dayMs / readsPerPeriod(dayMs, cadenceOf(own, record, null)),
    floor: policy.adaptive?.floor ?? 0,
  };
}
