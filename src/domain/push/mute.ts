const hourMs = 3_600_000;

/** Fewer deliveries, or a shorter time, show no rhythm. */
const fewest = 10;
const shortestMs = 72 * hourMs;
/** A silence is one too many when it outlasts the longest so far by half, and this many deliveries are missing. */
const longer = 1.5;
const missing = 8;
const leastMs = 6 * hourMs;

/**
 * Decides whether a subscription has fallen silent against its own quirk: nights and weekends are part of that. `times`:
 * when its deliveries came, in ascending order.
 */
export function isMute(times: readonly number[], now: number): boolean {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || times.length < fewest || last - first < shortestMs) return false;
  const longest = Math.max(...times.slice(1).map((time, before) => time - (times[before] ?? time)));
  const silence = now - last;
  const expected = (silence * times.length) / (last - first);
  return silence > Math.max(leastMs, longest * longer) && expected >= missing;
}
