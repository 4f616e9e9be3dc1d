import type { ImageFiles } from '../catalogue/image-files.ask.ts';
import type { Audits } from '../cycle/audits.ts';
import type { CheckDesk } from '../desk/check.ts';
import type { Backups } from '../files/backup/keep.ts';
import type { Snapshots } from '../files/snapshot/snapshot.ts';
import type { DaemonStatus } from '../says/status/daemon-status.ts';
import type { DoubtedService } from './conditions/doubts.ts';
import type { ConditionWatch } from './conditions/watch.ts';
import type { FileFailures } from './files.ts';
import type { FruitlessSearches } from './fruitless.ts';
import type { Mirroring } from './mirroring.ts';
import type { Publishing } from './publishing.ts';
import type { Receiving } from './receiving.ts';
import type { Schedule } from './schedule.ts';

/** The parts of a daemon, whose status is put together from them. */
export interface DaemonParts extends Mirroring {
  /** Aborts when the daemon stops. */
  readonly stopping: AbortSignal;
  readonly failures: FileFailures;
  readonly doubts: DoubtedService;
  readonly snapshots: Snapshots;
  readonly backups: Backups;
  readonly checks: CheckDesk;
  readonly images: ImageFiles;
  readonly audits: Audits;
  readonly fruitless: FruitlessSearches;
  /** Records whether checks use most of the call budget. */
  floods(): void;
  readonly conditions: ConditionWatch;
  /** Null: no database is configured. */
  readonly publishing: Publishing | null;
  /** Null: nothing is received. */
  readonly receiving: Receiving | null;
  readonly schedule: Schedule;
}

/** A whole daemon. Its jobs and its interfaces get it. */
export interface Daemon extends DaemonParts {
  /** The whole status: `shown` as all interfaces show it, `counted` with a new count of the mirror. */
  readonly status: Readonly<Record<'shown' | 'counted', () => Promise<DaemonStatus>>>;
}
