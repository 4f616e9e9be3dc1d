import type { Clock } from '../clock.ts';
import type { Running } from '../daemon/daemon.ts';
import type { Leadership } from '../database/lease.ts';
import { unwritableMs } from '../domain/leadership/lease.ts';

const lookEveryMs = 1000;

/**
 * Resolves with true when a leader has to resign: its files could not be written for 30 seconds, and another instance
 * stands by with an equal mirror. Resolves with false when the signal aborts.
 */
export async function hasToResign(
  daemon: Running,
  leadership: Leadership,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  let since: number | null = null;
  while (!signal.aborted) {
    const now = clock.monotonic();
    since = daemon.writeTrouble() === null ? null : (since ?? now);
    // If the database is unreachable, the term ends by itself.
    if (since !== null && now - since >= unwritableMs && (await leadership.hasWarmStandby().catch(() => false)))
      return true;
    await clock.sleep(lookEveryMs, signal).catch(() => undefined);
  }
  return false;
}
