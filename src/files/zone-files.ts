import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { readTzif } from '../kernel/time/tzif.ts';
import { chooseRules } from '../kernel/time/venue.ts';
import { type DifferingZone, newerRules, type RulesInUse, releaseIn, zonesText } from '../kernel/time/zone-releases.ts';
import { eitherRules, firstDifference, offsetsBy, runtimeRules, type ZoneRules } from '../kernel/time/zone-rules.ts';
import type { Mirror } from '../mirror/mirror.ts';

/** Time zones of the machine, beside those of the runtime. */
export interface MachineZones {
  /** Directory of compiled zones; null: they are not read. */
  readonly directory: string | null;
  /** Release of the runtime's rules, `2026c`; null: not known. */
  readonly runtime: string | null;
}

/** Releases of the rules, and the ones that are used where they differ. */
export interface ZoneReleases extends MachineZones {
  /** False: the directory has no zones. */
  readonly found: boolean;
  /** Release of the machine's rules; null: not known. */
  readonly machine: string | null;
  readonly used: RulesInUse;
}

/** Days for which the rules are compared. No date is sold earlier. */
const comparedMs = 400 * 86_400_000;

/** Every machine that has zones has this one. */
const anyZone = 'UTC';

export function zoneReleases({ directory, runtime }: MachineZones): ZoneReleases {
  const found = rulesIn(directory, anyZone) !== null;
  const machine = releaseIn(textIn(directory, 'tzdata.zi')) ?? releaseIn(textIn(directory, '+VERSION'));
  return { directory, runtime, found, machine, used: found ? newerRules(runtime, machine) : 'runtime' };
}

/** Chooses the rules of zones in which the runtime and the machine differ, for all that this process computes. */
export class ZoneFiles implements Disposable {
  readonly #zones: MachineZones;
  readonly #mirror: Mirror;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Zones that were asked for and differ: from which instant on. */
  readonly #differing = new Map<string, number>();
  #releases: ZoneReleases;
  #found: readonly DifferingZone[] = [];

  constructor(zones: MachineZones, { mirror, clock, log }: { mirror: Mirror; clock: Clock; log: Logger }) {
    this.#zones = zones;
    this.#mirror = mirror;
    this.#clock = clock;
    this.#log = log;
    this.#releases = this.#choose();
  }

  get releases(): ZoneReleases {
    return this.#releases;
  }

  /** Returns the zones in use in which the rules differed at the last look. */
  get differing(): readonly DifferingZone[] {
    return this.#found;
  }

  /** Compares anew, has stored offsets and dates follow, and records the result. Run at the start and every hour. */
  look(): void {
    this.#releases = this.#choose();
    const { catalogue, status } = this.#mirror;
    const now = this.#clock.now();
    // Asks for the rules of every zone in use.
    this.#mirror.transaction(() => catalogue.zones.renew(now));
    this.#found = catalogue.zones.inUse().flatMap(({ timezone, products }) => {
      const from = this.#differing.get(timezone);
      return from === undefined ? [] : [{ zone: timezone, products, from }];
    });
    const affected = this.#found.reduce((sum, { products }) => sum + products, 0);
    const detail = zonesText(this.#releases, this.#found);
    const failed = this.#found.length === 0 ? null : { affected, detail };
    if (status.outcomes.note('zone-rules', now, failed) === 'new')
      this.#log.warn(
        { zones: this.#found.map(({ zone }) => zone), used: this.#releases.used },
        'rules of time zones differ',
      );
  }

  #choose(): ZoneReleases {
    const releases = zoneReleases(this.#zones);
    this.#differing.clear();
    chooseRules((zone) => this.#rulesOf(zone, releases));
    return releases;
  }

  #rulesOf(zone: string, { directory, used }: ZoneReleases): ZoneRules {
    const now = this.#clock.now();
    const until = now + comparedMs;
    const ours = runtimeRules(zone);
    // Throws for a name that the runtime does not know, so that none from outside becomes a path.
    const offsets = offsetsBy(ours, now, until);
    const theirs = rulesIn(directory, zone);
    if (theirs === null) return ours;
    const from = firstDifference(offsets, offsetsBy(theirs, now, until), { now, until });
    if (from === null) return ours;
    this.#differing.set(zone, from);
    return { runtime: ours, machine: theirs, either: eitherRules(ours, theirs) }[used];
  }

  [Symbol.dispose](): void {
    chooseRules(runtimeRules);
  }
}

/** Returns the machine's rules of a zone; null: it has none that can be read. */
function rulesIn(directory: string | null, zone: string): ZoneRules | null {
  const bytes = bytesIn(directory, zone);
  return bytes === null ? null : readTzif(bytes);
}

function textIn(directory: string | null, file: string): string {
  return bytesIn(directory, file)?.toString('latin1') ?? '';
}

function bytesIn(directory: string | null, file: string): Buffer | null {
  if (directory === null) return null;
  try {
    return readFileSync(join(directory, file));
  } catch {
    // Missing, a directory, or not readable: the machine says nothing of it.
    return null;
  }
}
