import { rmSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/load.ts';
import { wallClock } from '../domain/time/wall-clock.ts';
import { backupsIn } from '../files/backups.ts';
import type { LiveAlarm } from '../files/storage-status.ts';
import type { Logger } from '../log.ts';
import type { Mirror } from '../mirror/mirror.ts';
import { version } from '../package.ts';
import { lastDrill } from './drill.ts';
import { drillInChild, makeInChild } from './in-child.ts';
import { type Manifest, readManifest } from './manifest.ts';

/** The state of the backups. */
export interface BackupStatus {
  readonly directory: string;
  readonly copies: number;
  /** The newest backup, when it was made, and the bytes of its copies; null: there is none. */
  readonly newest: string | null;
  readonly made_at: number | null;
  readonly bytes: number | null;
  /** 1 if the newest is older than two intervals, or there is none so long after the mirror was filled. */
  readonly late: 0 | 1;
  /** Why the last attempt failed, as the running daemon knows; null: it did not, or no daemon runs. */
  readonly failure: string | null;
  /** When a backup was last restored beside itself, to see whether it can be; null: never. */
  readonly tried_at: number | null;
  /** Why it could not be restored; null: it could, or none was tried. */
  readonly tried_failure: string | null;
}

/** The backups, as the schedule makes and tries them. */
export interface Backups {
  /** Makes one, and removes the oldest beyond `backup.keep`. Not before the mirror is filled. Logs a failure. */
  make(signal: AbortSignal): Promise<void>;
  /** Restores the newest beside itself, and compares: once a week. */
  drillDue(signal: AbortSignal): Promise<void>;
  /** When the newest was made; null: there is none. */
  madeAt(): number | null;
  failure(): string | null;
  /** Why the last drill failed, or the next one cannot be made. */
  drillFailure(): string | null;
  /** Returns an alarm while the last attempt failed, or the last drill did. */
  alarms(): LiveAlarm[];
}

const weekMs = 7 * 86_400_000;

export interface BackupPorts {
  readonly mirror: Pick<Mirror, 'path' | 'filledAt'>;
  readonly inbox: { readonly path: string };
  readonly clock: Clock;
  readonly log: Logger;
}

export function keepBackups(
  { mirror, inbox, clock, log }: BackupPorts,
  { directory, keep }: Config['backup'],
): Backups {
  let failed: { readonly since: number; readonly reason: string } | null = null;
  let untried: string | null = null;

  async function make(signal: AbortSignal): Promise<void> {
    if (mirror.filledAt() === null || signal.aborted) return;
    const began = clock.monotonic();
    try {
      const order = {
        mirror: mirror.path,
        inbox: inbox.path,
        directory,
        why: 'schedule',
        made_by: `catalogued ${version}`,
        now: clock.now(),
      } as const;
      const { backup, bytes } = await makeInChild(order, signal);
      const removed = removeOld(directory, { keep, now: clock.now() });
      failed = null;
      log.info({ backup, bytes, removed, ms: Math.round(clock.monotonic() - began) }, 'backup made');
    } catch (error) {
      if (signal.aborted) return;
      const reason = (error as Error).message;
      failed = { since: failed?.since ?? clock.now(), reason };
      log.error({ directory, reason }, 'backup failed');
    }
  }

  async function drillDue(signal: AbortSignal): Promise<void> {
    const backup = backupsIn(directory, clock.now()).at(-1);
    const tried = lastDrill(directory)?.at ?? null;
    const now = clock.now();
    // One that lies ahead was made by a wrong clock.
    if (tried !== null && tried <= now && now < tried + weekMs) return;
    if (backup === undefined || signal.aborted) return;
    try {
      const { failure } = await drillInChild({ backup, now }, signal);
      untried = null;
      if (failure === null) log.info({ backup }, 'backup restored on trial: it can be');
      else log.error({ backup, failure }, 'backup cannot be restored');
    } catch (error) {
      if (signal.aborted) return;
      untried = (error as Error).message;
      log.error({ backup, reason: untried }, 'backup could not be tried');
    }
  }

  return {
    make,
    drillDue,
    madeAt: () => newestOf(directory, clock.now())?.manifest.made_at ?? null,
    failure: () => failed?.reason ?? null,
    drillFailure: () => lastDrill(directory)?.failure ?? untried,
    alarms: () => {
      const tried = lastDrill(directory);
      return [
        ...(failed === null ? [] : [alarm('backup-failing', failed.since)]),
        ...(tried === null || tried.failure === null ? [] : [alarm('backup-unusable', tried.at)]),
      ];
    },
  };
}

function alarm(kind: LiveAlarm['kind'], raised_at: number): LiveAlarm {
  return { kind, raised_at, products: 0 };
}

/** Removes the oldest backups; one that somebody else has put there counts, and goes too. Returns how many went. */
export function removeOld(directory: string, { keep, now }: { readonly keep: number; readonly now: number }): number {
  const old = backupsIn(directory, now).slice(0, -keep);
  for (const backup of old) rmSync(backup, { recursive: true, force: true });
  return old.length;
}

/** Returns the newest backup that says what it is; null: there is none. */
function newestOf(directory: string, now: number): { readonly backup: string; readonly manifest: Manifest } | null {
  for (const backup of backupsIn(directory, now).reverse()) {
    try {
      return { backup, manifest: readManifest(backup) };
    } catch {
      // One that says nothing is passed over.
    }
  }
  return null;
}

/** Returns the status of the backups, from their directory. `failure` comes from the daemon. */
export function backupStatus(
  { directory, at, zone }: Config['backup'],
  {
    filled_at,
    failure,
    now,
  }: { readonly filled_at: number | null; readonly failure: string | null; readonly now: number },
): BackupStatus {
  const found = newestOf(directory, now);
  const tried = lastDrill(directory);
  const since = found?.manifest.made_at ?? filled_at;
  const next = at === null ? () => Number.POSITIVE_INFINITY : wallClock({ at, zone }).next;
  return {
    directory,
    copies: backupsIn(directory, now).length,
    newest: found?.backup ?? null,
    made_at: found?.manifest.made_at ?? null,
    bytes: found === null ? null : found.manifest.mirror.bytes + (found.manifest.inbox?.bytes ?? 0),
    // The second instant after it has gone by, and an hour in which to make it.
    late: since !== null && now > next(next(since)) + 3_600_000 ? 1 : 0,
    failure,
    tried_at: tried?.at ?? null,
    tried_failure: tried?.failure ?? null,
  };
}
