import { windows } from '../../domain/catalogue/availability.ts';
import { laneShares } from '../../domain/schedule/lanes.ts';
import {
  type Catalogue,
  callsPerDay,
  type LaneSupply,
  type PlanLine,
  planOf,
  productsOf,
  shareOut,
} from '../../domain/schedule/plan.ts';
import { staleWith } from '../../domain/schedule/price.ts';
import type { ReportedViews } from '../../mirror/schedule/budget.ts';
import type { SyncFacts } from '../records/context.ts';
import { catalogueOf, targetsOf } from '../records/counted.ts';

const dayMs = 86_400_000;
const longHorizon = 365;

/** The use of the call budget for the mirrored catalogue. Calls are per day, rates in calls a second. */
export interface Plan {
  readonly products: number;
  readonly lines: readonly PlanLine[];
  readonly calls_per_day: number;
  /** The learned rate (null: no daemon has run), and the ceiling. */
  readonly rate: number | null;
  readonly ceiling: number;
  /** Planned calls a day as a share of those that the ceiling allows. */
  readonly share_of_ceiling: number;
  /** Calls and minutes for reading everything of a kind once at the ceiling. */
  readonly sweeps: readonly { readonly what: string; readonly calls: number; readonly minutes: number }[];
  readonly lanes: readonly LaneSupply[];
  /**
   * Lanes that get fewer calls than their cadences need, so that freshness targets are missed. `factor`: how many times
   * the cadence their reads take.
   */
  readonly broken: readonly { readonly lane: string; readonly factor: number }[];
  /**
   * The benefit of calls: `outdated` is the expected share of shoppers' time in which some shown date is outdated,
   * estimated from the reads so far. Empty before the first survey, which comes at most six hours after the fill.
   */
  readonly buys: readonly { readonly what: string; readonly calls_per_day: number; readonly outdated: number }[];
  /**
   * The basis of the products' weights: the views that storefronts reported lately, the number of viewed products, and
   * the share of the weight of the ten most viewed. Null before the first survey.
   */
  readonly interest: ReportedViews | null;
  /** The additional calls a day that the freshness targets would need after a change. */
  readonly what_if: readonly { readonly change: string; readonly calls_per_day: number }[];
}

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
      .map(({ lane, wanted, got }) => ({ lane, factor: got === 0 ? Number.POSITIVE_INFINITY : wanted / got })),
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
