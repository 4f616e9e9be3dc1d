import { dirname } from 'node:path';
import { backUpBeforeUpgrade, type UpgradeWatch } from '../backup/upgrade.ts';
import { type Clock, type Entropy, type Instant, newId } from '../clock.ts';
import type { Config, LoadedConfig } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { backupsIn } from '../files/backups.ts';
import { findFiles, lastStopPath, refuseFiles } from '../files/pair.ts';
import { createStorage, type Storage, type StoragePorts } from '../files/storage.ts';
import { type FileWatch, type FileWatchOptions, watchFiles } from '../files/watch.ts';
import type { InodeOf } from '../inbox/feed-ledger.ts';
import { type Inbox, openInbox } from '../inbox/inbox.ts';
import type { Logger } from '../log.ts';
import type { MirrorOptions } from '../mirror/claim.ts';
import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { version } from '../package.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { forgetLastStop } from '../sqlite/last-stop.ts';
import { type TrustedClock, trustedClock } from './clock/trusted-clock.ts';
import type { HoldFiles } from './locks.ts';
import type { Sharing } from './sharing/sharing.ts';

/** Both files, open and locked by this process, and the clock that is trusted based on their instants. */
export interface OpenFiles {
  readonly files: FileWatch;
  readonly inbox: Inbox;
  readonly mirror: Mirror;
  readonly clock: TrustedClock;
  readonly storage: Storage;
  /** The instant since which deliveries are missing that a restored mirror would need again; null: none is missing. */
  readonly gone_since: number | null;
}

export interface OpenFilesOptions {
  readonly machine: Clock;
  readonly entropy: Entropy;
  readonly log: Logger;
  readonly checkFile?: FileWatchOptions['checkFile'] | undefined;
  readonly inodeOf?: InodeOf | undefined;
  readonly spaceOf?: StoragePorts['spaceOf'] | undefined;
  readonly upgrade: UpgradeWatch;
  /** Takes the locks of the files (75). */
  readonly hold: HoldFiles;
  /** Null: this is the only instance. */
  readonly sharing: Sharing | null;
}

/** Takes the locks (75) and opens both files onto the stack, which closes them and records a clean end. */
export async function openFiles(
  stack: AsyncDisposableStack,
  { config, secrets }: Pick<LoadedConfig, 'config' | 'secrets'>,
  { machine, entropy, log, checkFile, inodeOf, spaceOf, upgrade, hold, sharing }: OpenFilesOptions,
): Promise<OpenFiles> {
  // Uses the trusted clock once there is one.
  let now = machine.now;
  const time = { now: () => now(), monotonic: machine.monotonic, sleep: machine.sleep };
  const files = stack.use(await lockFiles(stack, config, { clock: time, log, checkFile, upgrade, hold }));
  const { path, inbox_path } = config.mirror;
  const { deliveries_bytes } = config.retention;
  const master = secrets.receiver_secret;
  const numbers = inodeOf === undefined ? {} : { inodeOf };
  const inbox = stack.use(openInbox(inbox_path, { master, now: now(), deliveries_bytes, entropy, ...numbers }));
  const shown = config.rows.publish || secrets.database_url !== null ? 'shown' : 'none';
  const publish_rows = sharing === null ? shown : 'all';
  const mirror = stack.use(openMirror({ ...mirrorOptions(config, inbox, entropy), publish_rows }));
  inbox.feed.witness(mirror.changes.newest());
  inbox.feed.opened(path);
  files.opened(mirror, inbox);
  stack.defer(() => {
    files.look();
    witnessFeed(mirror, inbox, log);
    noteStop(inbox, now(), log);
  });
  if (mirror.feed.feed === 'new') log.info({ ...mirror.feed }, 'a new change feed begins');
  const last = Math.max(inbox.last_alive_at ?? 0, mirror.lastReadAt() ?? 0) || null;
  const clock = trustedClock(machine, inbox.machineClock.anchor(), last);
  now = clock.now;
  const storage = stack.use(createStorage({ mirror, inbox, clock, log, spaceOf }));
  return { files, inbox, mirror, clock, storage, gone_since: applyAgain(mirror, inbox, log) };
}

/** Creates the directories of both files. Throws if other users can enter those that are ours alone. */
export function prepareDirectories({ mirror: { state_dir, inbox_path, path } }: Pick<Config, 'mirror'>): void {
  prepareDirectory(dirname(path), 0o3770);
  ownDirectory(state_dir);
  prepareDirectory(dirname(inbox_path), 0o700);
}

interface LockOptions extends Pick<OpenFilesOptions, 'log' | 'checkFile' | 'upgrade' | 'hold'> {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
}

/** Takes the locks, and inspects both files before anything is written. */
async function lockFiles(
  stack: AsyncDisposableStack,
  config: Config,
  { clock, log, checkFile, upgrade, hold }: LockOptions,
): Promise<FileWatch> {
  prepareDirectories(config);
  stack.use(hold(config));
  const found = findFiles(config, 'touched');
  refuseFiles(config, found);
  await backUpBeforeUpgrade(config, { clock, log, watch: upgrade });
  forgetLastStop(lastStopPath(config.mirror));
  const { unchecked, checked_at } = found;
  return watchFiles(config.mirror, {
    clock,
    log,
    unchecked,
    checked_at,
    ...(checkFile === undefined ? {} : { checkFile }),
  });
}

function mirrorOptions({ mirror, service, images, backup }: Config, inbox: Inbox, entropy: Entropy): MirrorOptions {
  const waiting = inbox.deliveries.after(0, 1)[0]?.delivery_id;
  return {
    path: mirror.path,
    pair_id: inbox.pair_id,
    written_by: `catalogued ${version}`,
    language: service.languages[0],
    currency: service.currencies[0],
    image_size: images.files ? (images.sizes[0] ?? null) : null,
    backups: backupsIn(backup.directory),
    newFeedId: () => newId(entropy),
    feed: { ...inbox.feed, waits_above: waiting === undefined ? null : waiting - 1 },
  };
}

/**
 * Makes the deliveries wait again that the mirror has not applied. Returns the instant since which some of them are
 * missing; null: none is.
 */
function applyAgain(mirror: Mirror, inbox: Inbox, log: Logger): number | null {
  inbox.deliveries.goOnAbove(mirror.lastDelivery());
  // Only for a restored mirror; a new one reads everything anyway.
  if (mirror.filledAt() === null) return null;
  const { deliveries, gone_since } = inbox.deliveries.waitAgain(mirror.lastDelivery());
  if (deliveries > 0) log.warn({ deliveries }, 'the mirror is older than the inbox: deliveries are applied again');
  return gone_since;
}

/** Records the end of the process. If that fails, its last heartbeat counts instead. */
function noteStop(inbox: Inbox, at: Instant, log: Logger): void {
  try {
    inbox.stopped(at);
  } catch (error) {
    log.warn({ err: error }, 'the end of the daemon could not be noted in the inbox');
  }
}

/** Records the newest change in the inbox. If that fails, the reserved ceiling counts instead. */
export function witnessFeed(mirror: Mirror, inbox: Inbox, log: Logger): void {
  try {
    inbox.feed.witness(mirror.changes.newest());
  } catch (error) {
    log.warn({ err: error }, 'the newest change could not be noted in the inbox');
  }
}

/** Creates the state directory (inbox, lock, socket). Throws if other users can enter it. */
function ownDirectory(path: string): void {
  const { mode, uid } = prepareDirectory(path, 0o700);
  const ours = process.getuid === undefined || uid === process.getuid();
  if (ours && (mode & 0o077) === 0) return;
  throw new CataloguedError(
    'state-directory',
    `the state directory ${path} ${ours ? 'can be entered by others' : 'belongs to somebody else'}`,
    {
      exitCode: exitCodes.permission,
      hint: `give it to this user alone: chown "$(id -u)" ${path} && chmod 0700 ${path}`,
    },
  );
}
