import { type Backups, keepBackups } from '../backup/keep.ts';
import type { Logger } from '../log.ts';
import { keepSnapshots, type Snapshots } from '../snapshot/snapshot.ts';
import type { DaemonStatus } from '../status/daemon-status.ts';
import { type CheckPorts, checkPorts } from '../sync/checks/check.ts';
import { watchChecks } from '../sync/checks/flood.ts';
import { type Audits, auditsOf } from '../sync/truth/audits.ts';
import { DoubtedService } from './conditions/doubts.ts';
import { ConditionWatch } from './conditions/watch.ts';
import { type FruitlessSearches, fruitlessSearches } from './fruitless.ts';
import { type Guard, guardFiles } from './guard.ts';
import { type ImageFiles, type ImageHostOverrides, keepImageFiles } from './images.ts';
import type { Receiving } from './receiving.ts';
import type { Wiring } from './wiring.ts';

/** The parts shared by the daemon's jobs and its admin interface, besides the wiring. */
export interface Parts {
  readonly wiring: Wiring;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly guard: Guard;
  readonly doubts: DoubtedService;
  readonly snapshots: Snapshots;
  readonly backups: Backups;
  /** Disposed of by the caller that created the parts, like the image files. */
  readonly checks: CheckPorts;
  readonly images: ImageFiles;
  readonly audits: Audits;
  readonly fruitless: FruitlessSearches;
  /** Raises or clears the alarm about a flood of checks. */
  floods(): void;
  readonly conditions: ConditionWatch;
  /** Null: nothing is received. */
  readonly receiving: Receiving | null;
  /** The whole status: `shown` as all interfaces show it, `counted` with a new count of the mirror. */
  readonly status: Readonly<Record<'shown' | 'counted', () => Promise<DaemonStatus>>>;
}

export interface PartsOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly imageHost?: ImageHostOverrides | undefined;
}

export function partsOf(wiring: Wiring, { log, signal, imageHost }: PartsOptions): Omit<Parts, 'receiving' | 'status'> {
  const { ports, limiter, config } = wiring;
  return {
    wiring,
    log,
    signal,
    guard: guardFiles(wiring),
    doubts: new DoubtedService(wiring),
    snapshots: keepSnapshots(ports, config.snapshot),
    backups: keepBackups({ ...ports, inbox: wiring.inbox }, config.backup),
    checks: checkPorts(wiring),
    images: keepImageFiles(wiring, imageHost),
    audits: auditsOf(ports),
    fruitless: fruitlessSearches(wiring.inbox, ports.clock),
    floods: watchChecks(ports, limiter.state),
    conditions: new ConditionWatch(wiring),
  };
}
