import { hourMs } from '../kernel/clock.ts';

/** Fewer deliveries, or a shorter time, do not show how often a subscription delivers. */
const fewest = 10;
const shortestMs = 72 * hourMs;
/**
 * A subscription is mute if its silence exceeds the longest one so far by this factor, and this many deliveries are
 * missing.
 */
const longer = 1.5;
const missing = 8;
const leastMs = 6 * hourMs;

/**
 * Returns whether a subscription has been silent for unusually long, judged by its earlier deliveries, nights and
 * weekends included. `times`: the instants of its deliveries, ascending.
 */
export function isMute(times: readonly number[], now: number): boolean {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || times.length < fewest || last - first < shortestMs) return false;
  const longest = Math.max(...times.slice(1).map((time, before) => time - (times[before] ?? time)));
  const silence = now - last;
  const expected = (silence * times.length) / (last - first);
  return silence > Math.max(leastMs, longest * longer) && expected >= missing;
}
