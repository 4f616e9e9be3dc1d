import { rmSync } from 'node:fs';
import type { Config } from '../../config/load.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/log.ts';
import { wallClock } from '../../kernel/time/wall-clock.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { version } from '../../package.ts';
import type { BackupFacts } from '../../says/conditions/facts.rules.ts';
import type { Attempts } from '../../says/status/outcomes.store.ts';
import { backupsIn } from '../backups.ts';
import { type Failing, notFailing } from '../failing.rules.ts';
import { lastDrill } from './drill.ts';
import { drillInChild, makeInChild } from './in-child.ts';
import { type Manifest, readManifest } from './manifest.ts';

/** State of the backups. */
export interface BackupStatus extends BackupFacts {
  readonly copies: number;
  /** The newest backup, and the bytes of its copies; null if there is none. */
  readonly newest: string | null;
  readonly bytes: number | null;
}

/** Makes and tests backups for the schedule. */
export interface Backups {
  /**
   * Makes a backup, and removes the oldest beyond `backup.keep`. Does nothing before the mirror is filled. Logs a
   * failure.
   */
  make(signal: AbortSignal): Promise<void>;
  /** Restores the newest backup beside itself once a week, and compares it. */
  drillDue(signal: AbortSignal): Promise<void>;
  /** Returns the instant at which the newest backup was made; null if there is none. */
  madeAt(): number | null;
  failing(): Failing;
  /** Returns why the last test failed, or why the next one cannot be made. */
  drillFailure(): string | null;
}

const weekMs = 7 * 86_400_000;

export interface BackupPorts {
  readonly mirror: Pick<Mirror, 'path' | 'filledAt'>;
  readonly inbox: { readonly path: string };
  readonly clock: Clock;
  readonly log: Logger;
  readonly attempts: Attempts;
  readonly drills: Attempts;
}

export function keepBackups(
  { mirror, inbox, clock, log, attempts, drills }: BackupPorts,
  { directory, keep }: Config['backup'],
): Backups {
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
      attempts.worked(clock.now());
      log.info({ backup, bytes, removed, ms: Math.round(clock.monotonic() - began) }, 'backup made');
    } catch (error) {
      if (signal.aborted) return;
      const failure = (error as Error).message;
      attempts.failed(clock.now(), failure);
      log.error({ directory, reason: failure }, 'backup failed');
    }
  }

  async function drillDue(signal: AbortSignal): Promise<void> {
    const backup = backupsIn(directory, clock.now()).at(-1);
    const tried = lastDrill(directory)?.at ?? null;
    const now = clock.now();
    // A test in the future was recorded with a wrong clock.
    if (tried !== null && tried <= now && now < tried + weekMs) return;
    if (backup === undefined || signal.aborted) return;
    try {
      const { failure } = await drillInChild({ backup, now }, signal);
      drills.worked(clock.now());
      if (failure === null) log.info({ backup }, 'backup restored on trial: it can be');
      else log.error({ backup, failure }, 'backup cannot be restored');
    } catch (error) {
      if (signal.aborted) return;
      const reason = (error as Error).message;
      drills.failed(clock.now(), reason);
      log.error({ backup, reason }, 'backup could not be tried');
    }
  }

  return {
    make,
    drillDue,
    madeAt: () => newestOf(directory, clock.now())?.manifest.made_at ?? null,
    failing: () => attempts.failing,
    drillFailure: () => lastDrill(directory)?.failure ?? drills.failing.failure,
  };
}

/**
 * Removes the oldest backups, and returns how many. Backups that somebody else has put there count, and are removed
 * too.
 */
export function removeOld(directory: string, { keep, now }: { readonly keep: number; readonly now: number }): number {
  const old = backupsIn(directory, now).slice(0, -keep);
  for (const backup of old) rmSync(backup, { recursive: true, force: true });
  return old.length;
}

/** Returns the newest backup with a readable manifest; null if there is none. */
function newestOf(directory: string, now: number): { readonly backup: string; readonly manifest: Manifest } | null {
  for (const backup of backupsIn(directory, now).reverse()) {
    try {
      return { backup, manifest: readManifest(backup) };
    } catch {
      // A backup without a readable manifest is skipped.
    }
  }
  return null;
}

/** Returns the status of the backups, from their directory, and from the last attempt to make one. */
export function backupStatus(
  { directory, at, zone }: Config['backup'],
  { filled_at, failing, now }: { readonly filled_at: number | null; readonly failing: Failing; readonly now: number },
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
    // The second instant after it has passed, plus an hour in which to make the backup.
    late: since !== null && now > next(next(since)) + 3_600_000 ? 1 : 0,
    // Without a schedule nothing would end a failure.
    ...(at === null ? notFailing : failing),
    tried_at: tried?.at ?? null,
    tried_failure: tried?.failure ?? null,
  };
}
