import { type Resource, resourceNames, resources } from '../../domain/schedule/resources.ts';
import type { Plan } from './plan.ts';

const dayMs = 86_400_000;

/** What is asked of one endpoint, as a vendor wants it declared before certification. */
export interface DeclaredEndpoint {
  readonly endpoint: string;
  /** `ingested`: stored and shown from the mirror; `live`: asked for one shopper; `managed`: of subscriptions; `received`: called by the service. */
  readonly use: 'ingested' | 'live' | 'managed' | 'received';
  readonly how_often: string;
  /** Calls a day that the plan foresees; null: as many as shoppers and changes ask for. */
  readonly calls_per_day: number | null;
}

/** As much of the configuration as a declaration says. Milliseconds. */
export interface DeclaredSettings {
  readonly paths: Readonly<Record<string, string | null>>;
  readonly cadence: {
    readonly availability: {
      readonly horizon: number;
      readonly near: { readonly days: number; readonly every: number };
      readonly middle: { readonly days: number; readonly every: number };
      readonly far: { readonly every: number };
    };
    readonly covered: Readonly<Record<string, number>>;
    readonly dynamic_pricing: Readonly<Record<string, number>>;
  } & Readonly<Record<string, unknown>>;
  /** How many subscriptions are declared. */
  readonly subscriptions: number;
  readonly public_url: string | null;
}

/** Returns every endpoint that is used: whether its answers are ingested or live, and how often it is asked. */
export function declarationOf(
  { paths, cadence, subscriptions, public_url }: DeclaredSettings,
  plan: Pick<Plan, 'lines'>,
  offers: (resource: Resource) => boolean,
): DeclaredEndpoint[] {
  const read = resourceNames.filter((resource) => paths[resources[resource].path] != null && offers(resource));
  const callback = public_url === null ? 'the receiver' : `${public_url}/…`;
  return [
    ...read.map(
      (resource): DeclaredEndpoint => ({
        endpoint: `GET ${paths[resources[resource].path]}`,
        use: 'ingested',
        how_often: cadenceOf(resource, cadence, subscriptions > 0),
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

function cadenceOf(resource: Resource, cadence: DeclaredSettings['cadence'], announced: boolean): string {
  if (resources[resource].tiers) {
    const { near, middle, far, horizon } = cadence.availability;
    return [
      `the next ${near.days} days every ${span(near.every)}`,
      `up to ${middle.days} days every ${span(middle.every)}`,
      ...(horizon > middle.days ? [`up to ${horizon} days every ${span(far.every)}`] : []),
    ].join(', ');
  }
  const covered = announced ? cadence.covered[resource] : undefined;
  // The list is also walked as often as images have to be confirmed.
  const usual = Math.min(
    Number(cadence[resource]),
    resource === 'products' ? Number(cadence.images) : Number.POSITIVE_INFINITY,
  );
  const dynamic = dynamicCadence(resource, cadence.dynamic_pricing);
  return [
    `every ${span(usual)}`,
    ...(dynamic === undefined ? [] : [`with dynamic pricing every ${span(Math.min(dynamic, usual))}`]),
    ...(covered === undefined ? [] : [`at once when announced, and then every ${span(covered)}`]),
  ].join('; ');
}

/** A product's own read keeps up with its prices, and so has the cadence of products with dynamic ones. */
function dynamicCadence(
  resource: Resource,
  cadences: DeclaredSettings['cadence']['dynamic_pricing'],
): number | undefined {
  switch (resources[resource].dynamic) {
    case 'own':
      return cadences[resource];
    case 'prices':
      return cadences.products;
    case 'usual':
      return undefined;
  }
}

/** Each line of a plan is of one resource: by its label, or one of those that a product's own read and its dates have. */
function callsOf(resource: Resource, { lines }: Pick<Plan, 'lines'>): number {
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
