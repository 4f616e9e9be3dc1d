import { dueRequested } from '../../domain/schedule/cadence.ts';
import { productKinds, type RecordKind, walkKinds } from '../../domain/schedule/record-kinds.ts';
import { isList, type ResyncResource, resources, resyncHelp } from '../../domain/schedule/resources.ts';
import { daysBetween } from '../../domain/time/dates.ts';
import { venueToday } from '../../domain/time/venue.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { JobState } from '../../mirror/schedule/jobs.ts';
import type { RecordSelection } from '../../mirror/schedule/record-rows.ts';
import type { SyncPorts } from './context.ts';
import { refuseDates } from './date-reach.ts';

export const resyncResources = Object.keys(resyncHelp) as readonly ResyncResource[];

export interface ResyncRequest {
  readonly resources: readonly ResyncResource[];
  /** Empty: all products. */
  readonly product_ids: readonly number[];
  /** Limits availability to the windows of these dates; null: all. */
  readonly from: string | null;
  readonly to: string | null;
}

/** The cost of a resync. */
export interface ResyncPrice {
  readonly records: Readonly<Record<string, number>>;
  readonly calls: number;
  /** At the configured rate. */
  readonly minutes: number;
}

type Ports = Pick<SyncPorts, 'mirror' | 'clock' | 'policy'>;

/** More calls than this are a sweep, which queues like a fill instead of going before everything. */
const fewCalls = 100;

/** An interrupted resync older than this is not resumed. */
const resumableMs = 24 * 60 * 60 * 1000;

/**
 * Makes the named records due now. Resumes an interrupted resync of the same scope, so that nothing is fetched twice.
 * Leaves other schedules unchanged.
 */
export function requestResync(ports: Ports, request: ResyncRequest): JobState & { readonly resumed: boolean } {
  const { mirror, clock } = ports;
  const selection = select(ports, request);
  const now = clock.now();
  return mirror.transaction(() => {
    const interrupted = mirror.jobs.interrupted(selection);
    if (interrupted !== null && now - interrupted.requested_at < resumableMs) return { ...interrupted, resumed: true };
    const few = callsOf(ports, selection) <= fewCalls && mirror.filledAt() !== null;
    const job = mirror.jobs.open(selection, now, few ? 'notification' : 'fill', (kind) => dueRequested(kind, few).at);
    if (job.records === 0 && mirror.products.count() > 0) mirror.jobs.finish(now);
    const walks = selection.kinds.filter(({ resource }) => isList(resource));
    // A walk under way has read its first pages before the request, so it begins again.
    if (mirror.filledAt() !== null)
      for (const { resource, edition } of walks) mirror.walks.begin({ resource, edition }, now, 1);
    return { ...job, resumed: false };
  });
}

/** Computes the cost of a resync, without making anything due. */
export function priceResync(ports: Ports, request: ResyncRequest, requests_per_second: number): ResyncPrice {
  const selection = select(ports, request);
  const calls = callsOf(ports, selection);
  const records = Object.fromEntries(ports.mirror.jobs.count(selection));
  return { records, calls, minutes: Math.ceil(calls / requests_per_second / 6) / 10 };
}

function callsOf({ mirror }: Ports, selection: RecordSelection): number {
  const counts = mirror.jobs.count(selection);
  const pages = Math.ceil(mirror.products.count() / 100) || 1;
  return [...counts].reduce((sum, [resource, count]) => sum + count * (resource === 'products' ? pages : 1), 0);
}

function select(ports: Ports, request: ResyncRequest): RecordSelection {
  const { mirror, policy } = ports;
  refuseDates(ports, { from: request.from, to: request.to });
  const unknown = request.product_ids.filter((id) => mirror.products.find(id) === null);
  if (unknown.length > 0) {
    throw new CataloguedError('unknown-product', `not in the mirror: product ${unknown.join(', ')}`, {
      exitCode: exitCodes.usage,
      hint: 'without --dry-run the service is asked for it; for a new product, read the list again: catalogued resync --products',
    });
  }
  const single = request.product_ids.length > 0;
  const { primary, further } = walkKinds(policy.extent);
  const perProduct = productKinds(policy.extent);
  const wants = (resource: ResyncResource) => request.resources.includes(resource);
  const details = perProduct.filter(({ resource }) => resource === 'product_detail');
  const kinds: RecordKind[] = [];
  if (wants('products') || wants('images')) {
    // The list brings images, prices and sale status of everything at one call per hundred products; a single product's
    // come with its own read.
    if (single && details.length > 0) kinds.push(...details);
    else kinds.push(primary, ...(wants('products') ? [...further, ...details] : []));
  }
  const asked = resyncResources.filter((name) => name !== 'products' && wants(name));
  const named = asked.flatMap((name) => perProduct.filter(({ resource }) => resources[resource].resync === name));
  kinds.push(...withinDates(ports, request, named));
  // A walk is of product 0; nothing else is.
  const product_ids = single ? [0, ...request.product_ids].sort((a, b) => a - b) : null;
  return { kinds: kinds.map(({ resource, edition, part }) => ({ resource, edition, part })), product_ids };
}

/**
 * Leaves out windows without a requested date, whatever the venue's zone: its today is this day or a neighbouring one.
 */
function withinDates(
  { clock, policy }: Ports,
  { from, to }: ResyncRequest,
  kinds: readonly RecordKind[],
): RecordKind[] {
  const { earliest, latest } = venueToday(null, clock.now());
  const first = from === null ? 0 : daysBetween(latest, from);
  const last = to === null ? Number.POSITIVE_INFINITY : daysBetween(earliest, to);
  const parts = policy.extent.windows
    .filter((window) => window.last_day >= first && window.first_day <= last)
    .map(({ part }) => part);
  return kinds.filter(({ resource, part }) => !resources[resource].tiers || parts.includes(part));
}
