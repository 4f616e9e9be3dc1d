import { dueByCadence, dueNeverFetched } from '../domain/cadence.ts';
import type { RecordKey } from '../domain/record.ts';
import { productKinds, walkKinds } from '../domain/record-kinds.ts';
import type { Policy, SyncPorts } from './ports.ts';

/**
 * Brings what the mirror plans to what the configuration asks for: records that are missing, records nobody wants any
 * more, promises and due instants after a changed cadence, time zones. Run at every start.
 */
export function prepareRecords({ mirror, clock, policy }: Pick<SyncPorts, 'mirror' | 'clock' | 'policy'>): void {
  const { extent, cadence, daysPerRequest } = policy;
  const { primary, further } = walkKinds(extent);
  const perProduct = productKinds(extent);
  mirror.transaction(() => {
    mirror.records.createWalk(primary);
    const walked = mirror.walks.find(primary)?.next_page === 0;
    // Before the primary walk has ended once there is nothing that a further one could add to.
    for (const walk of further) if (walked || walk.resource !== 'products') mirror.records.createWalk(walk);
    mirror.records.create(perProduct, null);
    mirror.records.dropOthers([primary, ...further, ...perProduct]);
    for (const product_id of policy.included) includeProduct({ mirror, policy }, product_id);
    if (mirror.writePromises(cadence, daysPerRequest)) {
      for (const record of mirror.records.waiting()) {
        const every = cadenceOf(policy, record);
        const { at } = dueByCadence(record, record.fetched_at, every);
        mirror.records.reschedule(record, at, record.fetched_at + every);
      }
    }
    mirror.writeZones(clock.now());
  });
}

/** A product that the list's filter leaves out is found by its own read, where the profile has one. */
function includeProduct({ mirror, policy }: Pick<SyncPorts, 'mirror' | 'policy'>, product_id: number): void {
  const details = productKinds(policy.extent).filter(({ resource }) => resource === 'product_detail');
  if (mirror.products.find(product_id) === null) mirror.records.create(details, [product_id]);
}

/** The cadence of a record that waits for it; a dynamic price shortens it when the record is read next. */
function cadenceOf({ cadence, extent }: Policy, { resource, part }: RecordKey): number {
  if (resource !== 'availability') return cadence[resource];
  return extent.windows.find((window) => window.part === part)?.every ?? dueNeverFetched({ resource, part }).at;
}
