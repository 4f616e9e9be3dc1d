import { beyondFrom, cadenceOfDay } from '../dates/availability.rules.ts';
import type { Plan } from '../schedule/call-plan.ts';
import { listCadence } from '../schedule/replan-products.ts';
import {
  coveredCadence,
  isCovered,
  isDynamic,
  isUntiered,
  type Resource,
  resourceNames,
  resources,
} from '../schedule/resources.rules.ts';
import type { StaleAfter } from '../schedule/targets.store.ts';

const dayMs = 86_400_000;

/** The use of one endpoint, in the form in which a vendor wants it declared before certification. */
export interface DeclaredEndpoint {
  readonly endpoint: string;
  /**
   * `ingested`: stored and shown from the mirror; `live`: requested for one shopper; `managed`: manages subscriptions;
   * `received`: called by the service.
   */
  readonly use: 'ingested' | 'live' | 'managed' | 'received';
  readonly how_often: string;
  /** Calls a day that the plan foresees; null: it depends on shoppers and changes. */
  readonly calls_per_day: number | null;
}

/** The part of the configuration that a declaration needs. Intervals in milliseconds. */
export interface DeclaredSettings {
  readonly paths: Readonly<Record<string, string | null>>;
  readonly cadence: StaleAfter;
  /** The number of declared subscriptions. */
  readonly subscriptions: number;
  readonly public_url: string | null;
}

/** Returns all used endpoints: whether their answers are ingested or live, and how often they are called. */
export function declarationOf(
  { paths, cadence, subscriptions, public_url }: DeclaredSettings,
  plan: Plan,
  offers: (resource: Resource) => boolean,
): DeclaredEndpoint[] {
  const read = resourceNames.filter((resource) => paths[resources[resource].path] != null && offers(resource));
  const callback = public_url === null ? 'the receiver' : `${public_url}/…`;
  return [
    ...read.map(
      (resource): DeclaredEndpoint => ({
        endpoint: `GET ${paths[resources[resource].path]}`,
        use: 'ingested',
        how_often: cadenceInWords(resource, cadence, subscriptions > 0),
        calls_per_day: callsOf(resource, plan),
      }),
    ),
    {
      endpoint: `GET ${paths.availability}`,
      use: 'live',
      how_often: 'when a shopper is about to order, and after each order; shoppers who ask the same share one call',
      calls_per_day: null,
    },
    ...(subscriptions === 0 || paths.subscription == null
      ? []
      : [
          managed(
            `PUT ${paths.subscription}`,
            'when what is mirrored has changed, and when the callback address is rotated',
          ),
          ...(paths.reactivate == null
            ? []
            : [managed(`POST ${paths.reactivate}`, 'when the service has degraded or cancelled one')]),
          {
            endpoint: `POST ${callback}`,
            use: 'received',
            how_often: 'when the service announces a change',
            calls_per_day: null,
          } as const,
        ]),
  ];
}

function managed(endpoint: string, how_often: string): DeclaredEndpoint {
  return { endpoint, use: 'managed', how_often, calls_per_day: null };
}

function cadenceInWords(resource: Resource, cadence: DeclaredSettings['cadence'], announced: boolean): string {
  if (!isUntiered(resource)) {
    const { near, middle, far, horizon } = cadence.availability;
    const beyond = beyondFrom(cadence.availability);
    return [
      `the next ${near.days} days every ${span(near.every)}`,
      `up to ${middle.days} days every ${span(middle.every)}`,
      ...(horizon > middle.days ? [`up to ${Math.min(horizon, beyond)} days every ${span(far.every)}`] : []),
      ...(beyond < horizon ? [`up to ${horizon} days every ${span(cadenceOfDay(cadence.availability, beyond))}`] : []),
    ].join(', ');
  }
  const covered = announced && isCovered(resource) ? coveredCadence(cadence, resource) : undefined;
  // The list also confirms the images, so it is walked at the shorter cadence of both.
  const usual = resource === 'products' ? listCadence(cadence) : cadence[resource];
  // A product's own read keeps its prices up to date, so it has the cadence of the dynamic prices.
  const priced = resources[resource].dynamic === 'prices' ? cadence.dynamic_pricing.products : undefined;
  const dynamic = isDynamic(resource) ? cadence.dynamic_pricing[resource] : priced;
  return [
    `every ${span(usual)}`,
    ...(dynamic === undefined ? [] : [`with dynamic pricing every ${span(Math.min(dynamic, usual))}`]),
    ...(covered === undefined ? [] : [`at once when announced, and then every ${span(covered)}`]),
  ].join('; ');
}

/**
 * Returns the planned calls a day of a resource. A line of the plan belongs to the resource of its label. Other lines
 * are the product's own reads and its dates.
 */
function callsOf(resource: Resource, { lines }: Plan): number {
  const own = lines.filter(({ what }) => resourceOf(what) === resource);
  return Math.round(own.reduce((sum, { calls_per_day }) => sum + calls_per_day, 0));
}

function resourceOf(what: string): Resource {
  const labelled = resourceNames.find((resource) => resources[resource].label === what);
  return labelled ?? (/dates/.test(what) ? 'availability' : 'product_detail');
}

function span(ms: number): string {
  const hours = ms / 3_600_000;
  if (ms >= dayMs && ms % dayMs === 0) return ms === dayMs ? 'day' : `${ms / dayMs} days`;
  return hours >= 1 && Number.isInteger(hours) ? `${hours} hours` : `${Math.round(ms / 60_000)} minutes`;
}
