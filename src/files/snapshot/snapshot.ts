import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/load.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/log.ts';
import { type PublishedCopy, removeTemporaries } from '../../kernel/sqlite/published-copy.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { ownProgram } from '../../package.ts';
import type { PublishedFacts } from '../../says/conditions/facts.rules.ts';
import type { Attempts } from '../../says/status/outcomes.store.ts';
import type { Failing } from '../failing.rules.ts';
import { runOwnProcess } from '../own-process.ts';
import { snapshotDue, snapshotLate } from '../snapshot.rules.ts';

/** State of the copy for readers on other hosts. */
export interface SnapshotStatus extends PublishedFacts {
  readonly path: string;
  readonly every_ms: number;
  readonly bytes: number | null;
}

/** Publishes the copies for readers on other hosts, for the schedule. */
export interface Snapshots {
  /**
   * Publishes a copy when it is due, never before the mirror is filled. Run every second. Logs a failure and retries.
   */
  publishDue(signal: AbortSignal): Promise<void>;
  failing(): Failing;
}

export interface SnapshotPorts {
  readonly mirror: Pick<Mirror, 'path' | 'filledAt'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly attempts: Attempts;
}

export function keepSnapshots(
  { mirror, clock, log, attempts }: SnapshotPorts,
  { every, path }: Config['snapshot'],
): Snapshots {
  async function publish(target: string, signal: AbortSignal): Promise<void> {
    const began = clock.monotonic();
    try {
      const left = removeTemporaries(target);
      if (left > 0) log.warn({ files: left }, 'removed what an interrupted snapshot had left behind');
      const { bytes } = await copyInChild(mirror.path, target, signal);
      attempts.worked(clock.now());
      log.info({ path: target, bytes, ms: Math.round(clock.monotonic() - began) }, 'snapshot published');
    } catch (error) {
      if (signal.aborted) {
        removeTemporaries(target);
        return;
      }
      const failure = whyOf(error, target);
      attempts.failed(clock.now(), failure);
      log.error({ path: target, reason: failure, failures: attempts.failures.count }, 'snapshot failed');
    }
  }

  return {
    publishDue: async (signal) => {
      if (every === null || path === null || mirror.filledAt() === null || signal.aborted) return;
      const facts = {
        published_at: published(path, mirror.path)?.at ?? null,
        failures: attempts.failures.count,
        failed_at: attempts.failures.at,
      };
      if (snapshotDue(facts, every, clock.now())) await publish(path, signal);
    },
    failing: () => attempts.failing,
  };
}

function whyOf(error: unknown, target: string): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? `the directory ${dirname(target)} is missing` : message;
}

/** Returns the status of the snapshot; null if none is configured. */
export function snapshotStatus(
  { every, path }: Config['snapshot'],
  mirror_path: string,
  failing: Failing,
  now: number,
): SnapshotStatus | null {
  if (every === null || path === null) return null;
  const found = published(path, mirror_path);
  const published_at = found?.at ?? null;
  const late = snapshotLate(published_at, every, now) ? 1 : 0;
  return { path, every_ms: every, published_at, bytes: found?.bytes ?? null, late, ...failing };
}

/**
 * Returns from the file itself when it was published, also by an earlier process. The mirror under another name does
 * not count.
 */
function published(path: string, mirror_path: string): { at: number; bytes: number } | null {
  try {
    const [{ mtimeMs, size, ino, dev }, mirror] = [statSync(path), statSync(mirror_path)];
    if (ino === mirror.ino && dev === mirror.dev) return null;
    return { at: Math.floor(mtimeMs), bytes: size };
  } catch {
    return null;
  }
}

/**
 * Copies the mirror in a separate process, which is killed when the daemon ends. Files that it leaves have a temporary
 * name. `standing`: the state from which a follower goes on; null: from the mirror's own numbers.
 */
export async function copyInChild(
  source: string,
  target: string,
  signal: AbortSignal,
  standing: { readonly origin: string; readonly state: number } | null = null,
): Promise<PublishedCopy> {
  const program = fileURLToPath(ownProgram('files/snapshot/child'));
  const args = [source, target, ...(standing === null ? [] : [standing.origin, `${standing.state}`])];
  const { out, failure } = await runOwnProcess(program, args, signal);
  if (failure !== null) throw new Error(failure);
  return JSON.parse(out) as PublishedCopy;
}
