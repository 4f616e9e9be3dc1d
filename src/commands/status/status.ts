import { Command } from 'commander';
import type { Answer } from '../../admin/api.ts';
import { AdminRefusal } from '../../admin/client.ts';
import { backupStatus } from '../../backup/keep.ts';
import { systemClock } from '../../clock.ts';
import type { Config, LoadedConfig } from '../../config/load.ts';
import { quarantineAfter } from '../../domain/budget/backoff.ts';
import { startRefusal } from '../../files/pair.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { type MirrorStatus, readStatus } from '../../mirror/status/status.ts';
import { snapshotStatus } from '../../snapshot/snapshot.ts';
import { verdictOf, withConditions } from '../../status/verdict.ts';
import { configurationFor, daemonClient } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { widthOf } from '../terminal/table.ts';
import { type ShownStatus, statusText } from './text.ts';

export function statusCommand(io: Io): Command {
  return new Command('status')
    .description(
      'Shows what is mirrored, how old it is, and which promises are kept. Exit 0: all are kept; 1: the mirror is not filled, or a promise is broken.',
    )
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText('after', '\nExamples:\n  catalogued status\n  catalogued status --json | jq .freshness')
    .action(async (options: { json?: boolean }, command: Command) => {
      const loaded = configurationFor(io, command);
      const { config } = loaded;
      const asked = await askDaemon(loaded);
      const live = asked === 'silent' ? null : asked;
      const mirror = mirrorStatus(config, live);
      const now = systemClock.now();
      const snapshot = snapshotStatus(config.snapshot, config.mirror.path, live?.snapshot?.failure ?? null, now);
      const found = {
        ...mirror,
        // Includes the daemon's own conditions: some cannot be stored.
        alarms: live?.alarms ?? mirror.alarms,
        daemon: live?.daemon ?? null,
        daemon_answers: asked === null ? null : asked !== 'silent',
        inbox: live?.inbox ?? null,
        storage: live?.storage ?? null,
        storefront: live?.storefront ?? null,
        jobs: live?.jobs ?? null,
        snapshot,
        backup: backupStatus(config.backup, {
          filled_at: mirror.filled_at,
          failure: live?.backup.failure ?? null,
          now,
        }),
      };
      // A daemon has watched; without one the files still tell some.
      const status: ShownStatus =
        live === null ? withConditions(found, now) : { ...found, conditions: live.conditions };
      io.stdout.write(options.json ? `${JSON.stringify(status, null, 2)}\n` : statusText(status, now, widthOf(io)));
      if (verdictOf(status, now).state !== 'true') io.answerIsNo();
    });
}

/**
 * How long to wait for the daemon: a healthy one answers within milliseconds, and a hanging one must not hang `status`.
 */
const patienceMs = 3000;

type Live = Answer<'GET /v1/status'>;

/**
 * Returns the status that the file shows; if it cannot be read, that of the daemon, which still has it open. Without a
 * daemon throws what its start would refuse: that also knows whether the inbox belongs to a mirror.
 */
function mirrorStatus(config: Config, live: Live | null): MirrorStatus {
  try {
    const db = openMirrorForReading(config.mirror.path);
    try {
      return readStatus(db, quarantineAfter);
    } finally {
      db.close();
    }
  } catch (error) {
    if (live === null) throw startRefusal(config) ?? error;
    const {
      daemon: _,
      inbox: __,
      storage: ___,
      snapshot: ____,
      backup: _______,
      jobs: _____,
      conditions: ________,
      storefront: ______,
      ...mirror
    } = live;
    return mirror;
  }
}

async function askDaemon(loaded: LoadedConfig): Promise<Live | 'silent' | null> {
  try {
    return await daemonClient(loaded).call({ operation: 'GET /v1/status', patience_ms: patienceMs });
  } catch (error) {
    if (error instanceof AdminRefusal) return null;
    if ((error as { code?: unknown }).code === 'daemon-silent') return 'silent';
    throw error;
  }
}
