const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** After how long an outage is logged again, before it is logged every hour. */
const remindersAfterMs = [1, 5, 15].map((minutes) => minutes * minuteMs);

/**
 * Returns how many lines an outage is worth that has lasted so long: one at its begin, after 1, 5, 15 and 60 minutes,
 * then every hour.
 */
export function outageLines(lasted_ms: number): number {
  const early = remindersAfterMs.filter((ms) => lasted_ms >= ms).length;
  return 1 + early + Math.max(0, Math.floor(lasted_ms / hourMs));
}
