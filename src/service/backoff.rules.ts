import { dayMs, hourMs } from '../kernel/clock.ts';
/**
 * Failures in a row after which a record is quarantined: its retries become rarer, down to one a day, and nothing waits
 * for it.
 */
export const quarantineAfter = 5;

const firstMs = 60_000;
const soonMs = 2_000;

/**
 * Returns when to retry a record that has failed `failures` times in a row. The delay is full jitter over 1, 2, 4 …
 * minutes: a random instant within that time, so that records that failed together are not retried together. In
 * quarantine it is full jitter over 1 hour, then 8 hours, then about a day, so that after an outage of half an hour no
 * record waits until tomorrow. `chance` is in [0, 1).
 */
export function retryAt(failures: number, chance: number, now: number): number {
  if (failures >= quarantineAfter) return inQuarantine(failures - quarantineAfter + 2, chance, now);
  return jittered(failures, chance, now);
}

/**
 * Returns when to retry a record that was never read or that somebody waits for: full jitter over 2, 4, 8 … seconds. In
 * quarantine over 1 minute, 8 minutes, 1 hour …, up to once a day.
 */
export function soonRetryAt(failures: number, chance: number, now: number): number {
  if (failures < quarantineAfter) return now + Math.round(jitter(soonMs, failures, chance));
  return inQuarantine(failures - quarantineAfter, chance, now);
}

/** Returns when to retry a list that was never read: within a minute, because every other read depends on it. */
export function soonListRetryAt(failures: number, chance: number, now: number): number {
  return now + Math.min(Math.round(jitter(soonMs, failures, chance)), firstMs);
}

/** Returns how long a shopper's read waits before a retry, in milliseconds. */
export function checkRetryMs(failures: number, chance: number): number {
  return Math.round(jitter(soonMs, failures, chance));
}

/** Returns when to retry a list that was read before: within an hour, because other reads depend on it. */
export function listRetryAt(failures: number, chance: number, now: number): number {
  return Math.min(jittered(failures, chance, now), now + hourMs);
}

/** Returns when to retry in quarantine: full jitter over 1 minute, 8 minutes, 1 hour, 8 hours; then once a day. */
function inQuarantine(step: number, chance: number, now: number): number {
  const longest = firstMs * 8 ** step;
  if (longest >= dayMs) return now + Math.round(dayMs * (0.9 + 0.1 * chance));
  return now + Math.max(1000, Math.round(chance * longest));
}

function jittered(failures: number, chance: number, now: number): number {
  return now + Math.max(1000, Math.round(jitter(firstMs, failures, chance)));
}

function jitter(firstMs: number, failures: number, chance: number): number {
  return chance * firstMs * 2 ** Math.min(failures - 1, 20);
}
