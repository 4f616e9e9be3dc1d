/** What must happen in a night of seeds: what never does was never asked. */
const wanted: readonly string[] = [];

export function neverSeen(sometimes: ReadonlyMap<string, number>): string[] {
  return wanted.filter((what) => !sometimes.has(what));
}
