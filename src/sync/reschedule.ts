import { dueAfterNewCadence } from '../domain/cadence.ts';
import type { RecordKey } from '../domain/record.ts';
import type { Ports, ProductPolicy } from './ports.ts';

/** Plans anew what waits for its cadence, after a change of it: of one product, or (null) of all. */
export function reschedule(
  { mirror, clock, policy }: Pick<Ports, 'mirror' | 'clock' | 'policy'>,
  product_id: number | null,
): void {
  for (const record of mirror.records.waiting(product_id)) {
    const every = cadenceOf(policy.of(record.category), record);
    const due = dueAfterNewCadence(record, record.fetched_at, every, clock.now());
    mirror.records.reschedule(record, due, record.fetched_at + every);
  }
}

/** The cadence of a record that waits for it; a dynamic price shortens it when the record is read next. */
export function cadenceOf({ cadence, extent }: ProductPolicy, { resource, part }: Omit<RecordKey, 'edition'>): number {
  if (resource !== 'availability') return cadence[resource];
  return extent.windows.find((window) => window.part === part)?.every ?? cadence.availability.far.every;
}
