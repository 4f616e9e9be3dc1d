import type { Config } from '../../config/load.ts';
import type { Clock } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { noteOf } from '../../kernel/sqlite/identity.ts';
import { version } from '../../package.ts';
import { makeInChild } from './in-child.ts';
import { removeOld } from './keep.ts';
import { type BackupOrder, bytesOf, type MadeBackup, unfinishedBytes } from './make.ts';
import { schemaSteps } from './schema-steps.ts';

/** Phase of an upgrade: it copies both files (`done` of `total` bytes), or changes them, in one transaction. */
export type UpgradeProgress =
  | { readonly phase: 'backup'; readonly done: number; readonly total: number }
  | { readonly phase: 'change' };

/** Follows an upgrade, and can end it before anything is changed. */
export interface UpgradeWatch {
  readonly signal: AbortSignal;
  /** Shows the progress. The upgrade waits for it. */
  show(progress: UpgradeProgress): Promise<void>;
}

export const unwatched: UpgradeWatch = { signal: new AbortController().signal, show: async () => undefined };

const showEveryMs = 2000;

/**
 * Makes a backup if this version is about to change the schema, as the way back. Without a backup nothing is changed,
 * and the start is refused. The caller holds the lock. Throws the reason of an aborted signal.
 */
export async function backUpBeforeUpgrade(
  { mirror, backup }: Config,
  { clock, log, watch }: { readonly clock: Clock; readonly log: Logger; readonly watch: UpgradeWatch },
): Promise<void> {
  const steps = schemaSteps(mirror);
  if ((steps.mirror ?? steps.inbox) === null || noteOf(mirror.path) === null) return;
  const order: BackupOrder = {
    mirror: mirror.path,
    inbox: mirror.inbox_path,
    directory: backup.directory,
    why: 'upgrade',
    made_by: `catalogued ${version}`,
    now: clock.now(),
  };
  log.info({ ...steps, directory: backup.directory }, 'backup before the upgrade begins');
  const made = await followed(order, { clock, watch });
  // A start that dies during the change makes another one each time it is tried.
  const removed = removeOld(order.directory, { keep: backup.keep, now: clock.now() });
  log.info({ ...steps, ...made, removed }, 'backup made before the upgrade');
  await watch.show({ phase: 'change' });
  watch.signal.throwIfAborted();
}

/** Makes the backup, and shows the progress every two seconds. */
async function followed(
  order: BackupOrder,
  { clock, watch }: { readonly clock: Clock; readonly watch: UpgradeWatch },
): Promise<MadeBackup> {
  const total = bytesOf(order.mirror) + bytesOf(order.inbox);
  const ended = new AbortController();
  const showing = (async () => {
    while (!ended.signal.aborted) {
      await watch.show({ phase: 'backup', done: Math.min(unfinishedBytes(order.directory), total), total });
      await clock.sleep(showEveryMs, ended.signal).catch(() => undefined);
    }
  })();
  try {
    return await makeInChild(order, watch.signal);
  } catch (error) {
    watch.signal.throwIfAborted();
    throw refusal(order, error);
  } finally {
    ended.abort();
    await showing;
  }
}

function refusal({ directory }: BackupOrder, error: unknown): CataloguedError {
  const known = error instanceof CataloguedError ? error : null;
  return new CataloguedError(
    'upgrade-backup',
    `no backup could be made before the upgrade, so nothing was changed: ${(error as Error).message}`,
    {
      exitCode: known?.exitCode ?? exitCodes.io,
      hint: known?.hint ?? `make ${directory} writable, or set backup.directory to another disk`,
      cause: error,
    },
  );
}
