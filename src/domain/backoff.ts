/** Failures in a row after which a record is in quarantine: tried once a day, and nobody waits for it. */
export const quarantineAfter = 5;

const firstMs = 60_000;
const dayMs = 86_400_000;

/**
 * When to try a record again that has failed `failures` times in a row: full jitter over a minute, two, four …
 * (a random instant up to then, so that what failed together does not return together); in quarantine once a day.
 * `chance` is in [0, 1).
 */
export function retryAt(failures: number, chance: number, now: number): number {
  if (failures >= quarantineAfter) return now + Math.round(dayMs * (0.9 + 0.1 * chance));
  return now + Math.max(1000, Math.round(chance * firstMs * 2 ** (failures - 1)));
}
