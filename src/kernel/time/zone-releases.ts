import { counted } from '../format.ts';

/** The rules that are used where those of the runtime and of the machine differ. */
export type RulesInUse = 'runtime' | 'machine' | 'either';

/** A zone in which the rules differ, from an instant on, and its number of visible products. */
export interface DifferingZone {
  readonly zone: string;
  readonly products: number;
  readonly from: number;
}

/** Returns the release that `tzdata.zi` or `+VERSION` names; null: none. */
export function releaseIn(text: string): string | null {
  return /^(?:# version )?(\d{4}[a-z]{1,2})\r?(?:\n|$)/.exec(text)?.[1] ?? null;
}

/** Decides by the releases. If one of them is not known, or both are the same, neither is believed alone. */
export function newerRules(runtime: string | null, machine: string | null): RulesInUse {
  const [ours, theirs] = [orderOf(runtime), orderOf(machine)];
  if (ours === null || theirs === null || ours === theirs) return 'either';
  return ours > theirs ? 'runtime' : 'machine';
}

/** Returns a release in a form that can be compared as text: after 2026z comes 2026za. */
function orderOf(release: string | null): string | null {
  return release !== null && /^\d{4}[a-z]{1,2}$/.test(release) ? release : null;
}

const shownZones = 5;

/** Says in which zones the rules differ, which ones are used, and what to update. */
export function zonesText(
  { runtime, machine, used }: { runtime: string | null; machine: string | null; used: RulesInUse },
  differing: readonly DifferingZone[],
): string {
  const zones = differing
    .slice(0, shownZones)
    .map(({ zone, products, from }) => `${zone} (${counted(products, 'product')}, from ${dateOf(from)} on)`);
  const more = differing.length - zones.length;
  const listed = more > 0 ? [...zones, `${more} more`] : zones;
  const releases = `those of Node (${named(runtime)}) and of this machine’s zone files (${named(machine)})`;
  return `the rules of ${listed.join(', ')} differ between ${releases}: ${decisions[used]}`;
}

const decisions = {
  runtime: 'those of Node are newer and are used; update the zone files, which other programs follow',
  machine: 'those of the files are newer and are used; update Node',
  either: 'it is not known which are newer, so a time counts as passed when it has by either; update both',
};

function named(release: string | null): string {
  return release ?? 'release unknown';
}

function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
