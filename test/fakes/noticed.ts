import type { Instant } from '../../src/kernel/clock.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { type ConditionCode, conditionTable } from '../../src/says/conditions/table.rules.ts';
import { readStatus } from '../../src/says/status/status.store.ts';
import { healthy } from '../says/conditions/healthy-facts.ts';

/** The conditions that the mirror alone shows, and that neither age nor failures of records bring about. */
const codes = [
  'checks-flood',
  'clock-doubted',
  'deliveries-not-understood',
  'images-disk',
  'images-expire',
  'images-refused',
  'images-unverified',
  'images-vanished',
  'old-address-used',
  'other-dates',
  'prices-refused',
  'subscription-broken',
  'subscription-failing',
  'subscription-silent',
  'subscription-taken',
] as const satisfies readonly ConditionCode[];

/** Returns which of them hold according to a mirror. */
export function noticedIn(path: string, now: Instant): ConditionCode[] {
  const db = openMirrorForReading(path);
  try {
    const facts = { ...healthy, at: now, ...readStatus(db, now) };
    return codes.filter((code) => conditionTable[code].found(facts) !== null);
  } finally {
    db.close();
  }
}
