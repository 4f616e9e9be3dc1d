/** Failures in a row after which a record is in quarantine: tried once a day, and nobody waits for it. */
export const quarantineAfter = 5;

const firstMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * When to try a record again that has failed `failures` times in a row: full jitter over a minute, two, four …
 * (a random instant up to then, so that what failed together does not return together); in quarantine once a day.
 * `chance` is in [0, 1).
 */
export function retryAt(failures: number, chance: number, now: number): number {
  if (failures >= quarantineAfter) return now + Math.round(dayMs * (0.9 + 0.1 * chance));
  return jittered(failures, chance, now);
}

/** The same for a list, which everything hangs on: never later than in an hour. */
export function listRetryAt(failures: number, chance: number, now: number): number {
  return Math.min(jittered(failures, chance, now), now + hourMs);
}

function jittered(failures: number, chance: number, now: number): number {
  return now + Math.max(1000, Math.round(chance * firstMs * 2 ** Math.min(failures - 1, 20)));
}
