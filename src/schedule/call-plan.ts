import { z } from 'zod';
import { windows } from '../dates/availability.rules.ts';
import { amount, count, type Shaped, text } from '../kernel/values/answer-values.ts';
import { type Catalogue, callsPerDay, planOf, productsOf, shareOut } from './call-plan.rules.ts';
import { staleWith } from './call-price.rules.ts';
import { laneShares, lanes } from './lanes.rules.ts';
import { catalogueOf, targetsOf } from './needed-calls.ts';
import type { SyncFacts } from './sync.ts';

const dayMs = 86_400_000;
const longHorizon = 365;

const lane = z.enum(lanes);

/** The use of the call budget for the mirrored catalogue. Calls are per day, rates in calls a second. */
export const plan = z.object({
  products: count,
  lines: z.array(z.object({ lane, what: text, records: count, calls_per_day: z.number() })),
  calls_per_day: z.number(),
  /** The learned rate (null: no daemon has run), and the ceiling. */
  rate: amount,
  ceiling: z.number(),
  /** Planned calls a day as a share of those that the ceiling allows. */
  share_of_ceiling: z.number(),
  /** Calls and minutes for reading everything of a kind once at the ceiling. */
  sweeps: z.array(z.object({ what: text, calls: z.number(), minutes: z.number() })),
  /** Calls that each lane needs, and gets. */
  lanes: z.array(z.object({ lane, wanted: z.number(), got: z.number() })),
  /** Lanes that get fewer calls than their cadences need, so that freshness targets are missed. */
  broken: z.array(
    z.object({
      lane: text,
      factor: amount.meta({ description: 'how many times later than its freshness target; null: never' }),
    }),
  ),
  /**
   * The benefit of calls: `outdated` is the expected share of shoppers' time in which some shown date is outdated,
   * estimated from the reads so far. Empty before the first survey, which comes at most six hours after the fill.
   */
  buys: z.array(z.object({ what: text, calls_per_day: z.number(), outdated: z.number() })),
  /** The basis of the products' weights. Null before the first survey. */
  interest: z.object({ views: z.number(), viewed: count, greatest: z.number() }).nullable().meta({
    description: 'the views told lately, of how many products, and the share of the weight of the ten most looked at',
  }),
  /** The additional calls a day that the freshness targets would need after a change. */
  what_if: z.array(z.object({ change: text, calls_per_day: z.number() })),
});
export type Plan = Shaped<typeof plan>;

/** Makes the plan for the current catalogue and configuration. */
export function makePlan(facts: SyncFacts): Plan {
  const { policy, mirror } = facts;
  const catalogue = catalogueOf(facts);
  const lines = planOf(catalogue);
  const calls_per_day = callsPerDay(lines);
  const needed = callsPerDay(planOf(targetsOf(catalogue)));
  const learned = mirror.schedule.budget.learned();
  const rate = learned === null ? null : Math.min(learned.rate, policy.ceiling);
  const lanes = shareOut(lines, laneShares, policy.ceiling);
  return {
    products: productsOf(catalogue.groups),
    lines,
    calls_per_day,
    rate,
    ceiling: policy.ceiling,
    share_of_ceiling: calls_per_day / (policy.ceiling * 86_400),
    sweeps: sweepsOf(catalogue, policy.ceiling),
    lanes,
    broken: lanes
      .filter(({ lane, wanted, got }) => lane !== 'audit' && wanted > got * 1.0001)
      .map(({ lane, wanted, got }) => ({ lane, factor: got === 0 ? null : wanted / got })),
    buys: buysOf(facts, needed, calls_per_day - needed),
    interest: interestOf(facts),
    what_if: whatIf(facts, targetsOf(catalogue)).map(([change, other]) => ({
      change,
      calls_per_day: callsPerDay(planOf(other)) - needed,
    })),
  };
}

/** Returns the benefit of four numbers of calls: the cadences alone, and half, all and twice the extra calls. */
function buysOf({ mirror }: SyncFacts, needed: number, extra: number): Plan['buys'] {
  const surveyed = mirror.schedule.budget.demand();
  if (surveyed === null) return [];
  return (
    [
      ['the targets alone', 0],
      ['half the extra calls', 0.5],
      ['as configured', 1],
      ['twice the extra calls', 2],
    ] as const
  ).flatMap(([what, times]) => {
    const outdated = staleWith(surveyed.demand, (times * extra) / dayMs);
    return outdated === null ? [] : [{ what, calls_per_day: needed + times * extra, outdated }];
  });
}

function interestOf({ mirror }: SyncFacts): Plan['interest'] {
  const surveyed = mirror.schedule.budget.demand();
  if (surveyed === null) return null;
  const { views, viewed, greatest } = surveyed.interest;
  return { views, viewed, greatest };
}

function whatIf({ policy }: SyncFacts, catalogue: Catalogue): [string, Catalogue][] {
  const { cadence, daysPerRequest } = policy;
  const far = { ...cadence.availability, horizon: longHorizon };
  const further = windows(far, daysPerRequest);
  const longer = catalogue.groups.map((group) =>
    group.windows.length < further.length ? { ...group, windows: further } : group,
  );
  const beyond = { days: far.beyond?.days ?? 0, every: 8 * dayMs };
  const seldom = windows({ ...far, beyond }, daysPerRequest);
  const rarer = catalogue.groups.map((group) => ({ ...group, windows: seldom }));
  const doubled = catalogue.groups.map((group) => ({
    ...group,
    on_sale: 2 * group.on_sale,
    off_sale: 2 * group.off_sale,
    dynamic: 2 * group.dynamic,
    covered: 2 * group.covered,
    covered_dynamic: 2 * group.covered_dynamic,
  }));
  const announced = catalogue.groups.map((group) => ({
    ...group,
    covered: group.on_sale + group.off_sale,
    covered_dynamic: group.dynamic,
  }));
  return [
    [`a horizon of ${longHorizon} days`, { ...catalogue, groups: longer }],
    ...(far.beyond?.every == null
      ? [
          [`the same, every 8 days from day ${beyond.days} on`, { ...catalogue, groups: rarer }] satisfies [
            string,
            Catalogue,
          ],
        ]
      : []),
    ['another language', { ...catalogue, languages: catalogue.languages + 1 }],
    ['another currency', { ...catalogue, currencies: catalogue.currencies + 1 }],
    ['subscriptions for all products', { ...catalogue, groups: announced }],
    ['twice the products', { ...catalogue, groups: doubled, experiences: 2 * catalogue.experiences }],
  ];
}

function sweepsOf(catalogue: Catalogue, ceiling: number): Plan['sweeps'] {
  const { groups, currencies, languages, page_size } = catalogue;
  const onSale = groups.reduce((sum, group) => sum + group.on_sale, 0);
  const far = groups.reduce((sum, group) => sum + group.on_sale * (group.windows.length - 1), 0);
  const all = productsOf(groups);
  return [
    { what: 'the product list', calls: Math.ceil(all / page_size) * (languages + currencies - 1) },
    { what: 'near and middle dates of all on sale', calls: onSale * currencies },
    { what: 'all dates of all on sale', calls: (onSale + far) * currencies },
    { what: 'checkout information of all', calls: all * languages },
  ].map((sweep) => ({ ...sweep, minutes: Math.ceil(sweep.calls / ceiling / 6) / 10 }));
}
