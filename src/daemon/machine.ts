import { type UpgradeWatch, unwatched } from '../files/backup/upgrade.ts';
import type { checkFile } from '../files/integrity.ts';
import { type HoldFiles, holdFiles } from '../files/locks.ts';
import type { WriterOptions } from '../files/writer.ts';
import type { MachineZones } from '../files/zone-files.ts';
import { type Chance, type Clock, type Entropy, systemChance, systemClock, systemEntropy } from '../kernel/clock.ts';
import type { OpenListener } from '../kernel/http/kept-listener.ts';
import type { Logger } from '../kernel/log.ts';
import type { SubscriptionContext } from '../push/subscription.ask.ts';
import type { InodeOf } from '../receiver/feed-ledger.store.ts';

/** The disk. An absent function means the disk's own answer. */
export interface Disk {
  /** Numbers files. A test replaces it, because the numbers of a real disk differ from run to run. */
  readonly inodeOf?: InodeOf;
  /** Returns the free space, which other programs change. */
  readonly spaceOf?: WriterOptions['spaceOf'];
  /** Checks a whole file. The real check runs in a process with its own time. */
  readonly checkFile?: typeof checkFile;
}

/** The network. */
export interface Network {
  /** Opens listeners that outlive the daemon. Absent: its own listeners end with it. */
  readonly listen?: OpenListener;
  /** Requests our own public address. Absent: over the network. */
  readonly selfTest?: SubscriptionContext['selfTest'];
  readonly imageHost: ImageHostReach;
}

/** Limits of calls to image hosts. No configuration can set them: a test allows an image host on this machine. */
export interface ImageHostReach {
  /** Addresses on this machine at which images may be. */
  readonly addresses: readonly string[];
  readonly requests_per_second: number;
  /** The number of files fetched at the same time. */
  readonly at_once: number;
}

/** The machine that a process runs on: everything that differs between production and a test. It is passed whole. */
export interface Machine {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly entropy: Entropy;
  readonly disk: Disk;
  readonly network: Network;
  readonly zones: MachineZones;
  /** Takes the locks of both files. */
  readonly locks: HoldFiles;
  /** Follows the backup before a change of the schema, and can end it. */
  readonly upgrade: UpgradeWatch;
  readonly log: Logger;
}

/** Returns the real machine, with the parts that `replaced` names replaced. */
export function thisMachine(log: Logger, replaced: Partial<Machine> = {}): Machine {
  return {
    clock: systemClock,
    chance: systemChance,
    entropy: systemEntropy,
    disk: {},
    network: { imageHost: { addresses: [], requests_per_second: 10, at_once: 8 } },
    zones: { directory: '/usr/share/zoneinfo', runtime: process.versions.tz ?? null },
    locks: holdFiles,
    upgrade: unwatched,
    log,
    ...replaced,
  };
}
