import { setImmediate } from 'node:timers/promises';
import { besideAudits, extraCalls, limitsAfterPressure } from '../../domain/budget/extra-calls.ts';
import { dueByCadence, dueByWorth, readsPerPeriod } from '../../domain/schedule/cadence.ts';
import {
  addDemand,
  clearingPrice,
  type Demand,
  noDemand,
  noExtraCalls,
  type Priced,
  pricesAround,
} from '../../domain/schedule/price.ts';
import type { Due, RecordFacts } from '../../domain/schedule/record.ts';
import type { Volatility } from '../../domain/schedule/volatility.ts';
import type { KnownProduct } from '../../mirror/catalogue/product/reads.ts';
import type { SurveyedInterest } from '../../mirror/schedule/budget.ts';
import type { AdaptiveRecord } from '../../mirror/schedule/record-reads.ts';
import { believed } from './beliefs.ts';
import type { Ports, SyncPorts } from './context.ts';
import { neededCalls } from './counted.ts';
import { cadenceOf } from './reschedule.ts';
import { surveyInterest, weighing, weighProduct, weightOfRecord } from './weights.ts';

/** How long a demand is valid: rates of change move slowly, and a wrong price corrects itself each time. */
const holdsMs = 6 * 3_600_000;
const dayMs = 86_400_000;
/** The number of records between two turns of the event loop: a millisecond or two. */
const slice = 100;
/** Below so many products nothing is read again sooner than this, and above it than that, unless configured. */
const floors = { products: 1_000, few: 15 * 60_000, many: 5 * 60_000 };

type PricingPorts = Pick<SyncPorts, 'mirror' | 'clock' | 'policy' | 'budget'>;

/**
 * Computes the demand for extra calls when it is six hours old: at several prices, a slice of availability records at a
 * time (price.ts).
 */
export async function surveyDemand(ports: Ports, signal: AbortSignal): Promise<void> {
  const { mirror, clock, policy } = ports;
  const due_at = surveyDueAt(ports);
  // A survey from the future was stored by a wrong clock.
  const ahead = (due_at ?? 0) - clock.now();
  if (policy.adaptive === null || due_at === null || (ahead > 0 && ahead < 2 * holdsMs)) return;
  const floor = policy.adaptive.floor ?? (mirror.products.count() < floors.products ? floors.few : floors.many);
  const interest = await surveyInterest(ports, signal);
  const weigh = weighing(ports, interest);
  let demand: Demand = noDemand(pricesAround(lastPrice(ports)));
  let cursor: AdaptiveRecord | null = null;
  for (;;) {
    const records: AdaptiveRecord[] = mirror.records.adaptiveAfter(cursor, slice);
    if (signal.aborted) return;
    if (records.length === 0) break;
    demand = addDemand(
      demand,
      records.map((record) => pricedOf(ports, record, { floor, weight: weigh(record) })),
    );
    cursor = records.at(-1) ?? null;
    await setImmediate();
  }
  const surveyed = { demand, floor, promised: neededCalls(ports) / dayMs, interest };
  mirror.transaction(() => mirror.budget.saveDemand(surveyed, clock.now()));
}

/** Returns when the demand is computed next; null: it need not be, or not before the fill has ended. */
export function surveyDueAt({ mirror, policy }: Pick<Ports, 'mirror' | 'policy'>): number | null {
  if (policy.adaptive === null || mirror.filledAt() === null) return null;
  const surveyed_at = mirror.budget.surveyedAt();
  return surveyed_at === null ? 0 : surveyed_at + holdsMs;
}

/** Returns when a record is due after a read at `fetched_at`: by its cadence, or sooner if that is worth a call. */
export function dueAfterRead(
  ports: PricingPorts,
  record: Pick<RecordFacts, 'resource' | 'product_id' | 'edition' | 'part'>,
  { fetched_at, cadence, product }: { fetched_at: number; cadence: number; product: KnownProduct },
  volatility: Volatility,
): Due {
  const { price, floor, interest } = marketOf(ports);
  if (interest === null) return dueByCadence(record, fetched_at, cadence);
  const weight = weightOfRecord(weighProduct(ports, product, interest), record);
  return dueByWorth(record, fetched_at, cadence, { volatility, weight, price, floor });
}

/** The price of a call now, and the shortest interval between two reads; before the first survey none is worth one. */
function marketOf({ mirror, clock, policy, budget }: PricingPorts): Market {
  const surveyed = mirror.budget.demand();
  if (surveyed === null || policy.adaptive === null) return { price: noExtraCalls, floor: 0, interest: null };
  const { demand, promised, floor, interest } = surveyed;
  const learned = budget();
  const limits = limitsAfterPressure(policy.adaptive.limits, learned, clock.now());
  const extra = besideAudits(extraCalls(limits, promised, learned.rate / 1000), promised, policy.audit);
  return { price: clearingPrice(demand, extra), floor, interest };
}

interface Market {
  readonly price: number;
  readonly floor: number;
  readonly interest: SurveyedInterest | null;
}

function lastPrice(ports: PricingPorts): number | null {
  const { price } = marketOf(ports);
  return price === noExtraCalls ? null : price;
}

/** Returns a record as the demand counts it. */
function pricedOf(
  { policy }: Pick<Ports, 'policy'>,
  record: AdaptiveRecord,
  { weight, floor }: Pick<Priced, 'weight' | 'floor'>,
): Priced {
  const cap = dayMs / readsPerPeriod(dayMs, cadenceOf(policy.of(record.category), record, null));
  return { volatility: believed(record), weight, cap, floor };
}
