import { dirname } from 'node:path';
import type { Config, LoadedConfig } from '../config/load.ts';
import { backUpBeforeUpgrade } from '../files/backup/upgrade.ts';
import { backupsIn } from '../files/backups.ts';
import { findFiles, lastStopPath, refuseFiles } from '../files/pair.ts';
import { type FileWatch, watchFiles } from '../files/watch.ts';
import type { Writer } from '../files/writer.ts';
import { type Clock, type Instant, newId } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { isWithoutDescriptors, outOfDescriptors } from '../kernel/sqlite/descriptors.ts';
import { prepareDirectory } from '../kernel/sqlite/directory.ts';
import { faultOf } from '../kernel/sqlite/fault.ts';
import { forgetLastStop } from '../kernel/sqlite/last-stop.ts';
import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { version } from '../package.ts';
import { type Inbox, openInbox } from '../receiver/inbox.ts';
import type { Sync } from '../schedule/sync.ts';
import { type TrustedClock, trustedClock } from './clock/trusted-clock.ts';
import type { Machine } from './machine.ts';
import type { Sharing } from './sharing/sharing.ts';

/** Both files, open and locked by this process, and the clock that is trusted based on their instants. */
export interface OpenFiles {
  readonly files: FileWatch;
  readonly inbox: Inbox;
  readonly mirror: Mirror;
  readonly clock: TrustedClock;
}

/** Takes the locks (75) and opens both files onto the stack, which closes them and records a clean end. */
export async function openFiles(
  stack: AsyncDisposableStack,
  machine: Machine,
  { config, secrets }: LoadedConfig,
  sharing: Sharing | null,
): Promise<OpenFiles> {
  const { entropy, disk, log } = machine;
  const { path, inbox_path } = config.mirror;
  // Uses the trusted clock once there is one.
  let clock: Clock = machine.clock;
  const time: Clock = { ...machine.clock, now: () => clock.now() };
  prepareDirectories(config);
  stack.use(machine.locks(config));
  const found = findFiles(config, 'touched');
  refuseFiles(config, found);
  const { unchecked, checked_at } = found;
  await backUpBeforeUpgrade(config, { clock: time, log, watch: machine.upgrade });
  forgetLastStop(lastStopPath(config.mirror));
  const files = stack.use(watchFiles(config.mirror, { ...disk, unchecked, checked_at, clock: time, log }));
  const inbox = stack.use(
    openInbox(inbox_path, {
      ...disk,
      master: secrets.receiver_secret,
      now: time.now(),
      deliveries_bytes: config.retention.deliveries_bytes,
      entropy,
    }),
  );
  const shown = config.rows.publish || secrets.database_url !== null ? 'shown' : 'none';
  const mirror = stack.use(
    openMirror({
      path,
      pair_id: inbox.pair_id,
      written_by: `catalogued ${version}`,
      language: config.service.languages[0],
      currency: config.service.currencies[0],
      image_size: config.images.files ? (config.images.sizes[0] ?? null) : null,
      backups: backupsIn(config.backup.directory),
      newFeedId: () => newId(entropy),
      feed: inbox.feed,
      waits_above: waitsAbove(inbox),
      publish_rows: sharing === null ? shown : 'all',
    }),
  );
  inbox.feed.witness(mirror.changes.newest());
  inbox.feed.opened(path);
  files.opened(mirror, inbox);
  stack.defer(() => {
    files.look();
    witnessFeed(mirror, inbox, log);
    noteStop(inbox, time.now(), log);
  });
  if (mirror.feed.feed === 'new') log.info({ ...mirror.feed }, 'a new change feed begins');
  const last = Math.max(inbox.last_alive_at ?? 0, mirror.lastReadAt() ?? 0) || null;
  const trusted = trustedClock(machine.clock, inbox.machineClock.anchor(), last);
  clock = trusted;
  return { files, inbox, mirror, clock: trusted };
}

/** Creates the directories of both files. Throws if other users can enter those that are ours alone. */
export function prepareDirectories({ mirror: { state_dir, inbox_path, path } }: Config): void {
  prepareDirectory(dirname(path), 0o3770);
  ownDirectory(state_dir);
  prepareDirectory(dirname(inbox_path), 0o700);
}

/** Returns the number after which deliveries wait; null: none waits. */
function waitsAbove({ deliveries }: Inbox): number | null {
  const [waiting] = deliveries.after(0, 1);
  return waiting === undefined ? null : waiting.delivery_id - 1;
}

/**
 * Makes the deliveries wait again that the mirror has not applied. Returns the instant since which some of them are
 * missing; null: none is.
 */
export function applyAgain(mirror: Mirror, inbox: Inbox, log: Logger): number | null {
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

const tellEveryMs = 60_000;

/** Judges the errors of jobs and of the receiver: only a disk that fails ends the daemon. */
export class FileFailures {
  /** Rejects when the daemon cannot continue because the disk fails. */
  readonly broken: Promise<never>;
  readonly #files: FileWatch;
  readonly #sync: Sync;
  readonly #break: (error: unknown) => void;
  /** The moment at which missing descriptors were last reported, by the monotonic clock. */
  #told_at = Number.NEGATIVE_INFINITY;

  constructor(files: FileWatch, writer: Writer, sync: Sync) {
    const broken = Promise.withResolvers<never>();
    broken.promise.catch(() => undefined);
    writer.broken.catch(broken.reject);
    this.broken = broken.promise;
    this.#break = broken.reject;
    this.#files = files;
    this.#sync = sync;
  }

  /**
   * Takes the error of work on a file. After damage to it, or if no file descriptor was left, records the error and the
   * daemon continues: deliveries can still be received, and descriptors are free again a moment later. Any other error
   * ends the daemon.
   */
  note(file: 'mirror' | 'inbox', error: unknown): void {
    const { clock, log } = this.#sync;
    if (this.#files.noteDamage(file, error)) return;
    // SQLite only reports that it cannot open a file.
    const mayBe = isWithoutDescriptors(error) || faultOf(error) === 'no-access';
    const exhausted = mayBe ? outOfDescriptors(error) : null;
    if (exhausted === null) {
      this.#break(error);
      return;
    }
    if (clock.monotonic() - this.#told_at < tellEveryMs) return;
    this.#told_at = clock.monotonic();
    log.error({ err: error, hint: exhausted.hint }, exhausted.message);
  }
}
