/**
 * The number of failures in a row after which a record is quarantined: retried ever more rarely, in the end once a day,
 * and nothing waits for it.
 */
export const quarantineAfter = 5;

const firstMs = 60_000;
const soonMs = 2_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Returns when to try a record again that has failed `failures` times in a row: full jitter over a minute, two, four …
 * (a random instant up to then, so that what failed together does not return together); in quarantine over an hour, eight
 * hours, then once a day: where it was the service that gave no usable answer for half an hour, nothing waits for
 * tomorrow. `chance` is in [0, 1).
 */
export function retryAt(failures: number, chance: number, now: number): number {
  if (failures >= quarantineAfter) return inQuarantine(failures - quarantineAfter + 2, chance, now);
  return jittered(failures, chance, now);
}

/**
 * Returns when to retry a record that was never read or that somebody waits for: full jitter over two seconds, four,
 * eight …; in quarantine over a minute, eight, an hour, up to once a day.
 */
export function soonRetryAt(failures: number, chance: number, now: number): number {
  if (failures < quarantineAfter) return now + Math.round(jitter(soonMs, failures, chance));
  return inQuarantine(failures - quarantineAfter, chance, now);
}

/** Returns when to retry a list that was never read: within a minute, because nothing goes on without it. */
export function soonListRetryAt(failures: number, chance: number, now: number): number {
  return now + Math.min(Math.round(jitter(soonMs, failures, chance)), firstMs);
}

/** Returns how long a shopper's read waits before a retry, in milliseconds. */
export function checkRetryMs(failures: number, chance: number): number {
  return Math.round(jitter(soonMs, failures, chance));
}

/** Returns when to retry a list, on which everything depends: within an hour at the latest. */
export function listRetryAt(failures: number, chance: number, now: number): number {
  return Math.min(jittered(failures, chance, now), now + hourMs);
}

/** Full jitter over a minute, eight, an hour, eight hours; then once a day. */
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
