import { duration, megabytes } from '../format.ts';
import type { StorageStatus } from './storage-status.ts';

/** How long another program's lock must last to be reported: most are released at once. */
const lockSaidMs = 5000;

/** Returns what keeps the files from being written, each a sentence without a full stop; empty if nothing does. */
export function storageMessages({ trouble, directories }: StorageStatus, now: number): string[] {
  const low = directories
    .filter((each) => each.low === 1)
    .map(
      ({ path, free_bytes, low_below_bytes }) =>
        `${megabytes(free_bytes)} free in ${path}: bulk reads pause below ${megabytes(low_below_bytes)}`,
    );
  return [...troubleMessages(trouble, now), ...low];
}

function troubleMessages(trouble: StorageStatus['trouble'], now: number): string[] {
  if (trouble === null) return [];
  const { kind, path, since, missing_bytes } = trouble;
  const lasts = now - since;
  if (kind === 'locked')
    return lasts < lockSaidMs
      ? []
      : [`another program has been writing ${path} for ${duration(lasts)}: waiting for it`];
  const missing = missing_bytes === null ? '' : `, ${megabytes(missing_bytes)} more must become free`;
  return [`the disk is full, ${path} cannot be written for ${duration(lasts)}${missing}`];
}
