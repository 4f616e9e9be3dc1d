import { isWithoutDescriptors, outOfDescriptors } from '../sqlite/descriptors.ts';
import { faultOf } from '../sqlite/fault.ts';
import type { Wiring } from './wiring.ts';

/** Guards work by the state of the two files: nothing is done for a file that is lost or damaged. */
export interface Guard {
  /**
   * Runs work unless the mirror is lost or damaged, or another instance may lead by now. Waits for a full disk and another program's lock; rejects with any
   * other failure.
   */
  guarded(work: () => Promise<void>): Promise<void>;
  /** Does the same, but only if the time is known. */
  whenTimeKnown(work: () => Promise<void>): Promise<void>;
  /**
   * Returns a handler that notes damage and goes on, because deliveries can still be received. It also goes on where no
   * descriptor was left: some are free a moment later. Any other failure of the disk ends the daemon.
   */
  failed(file: 'mirror' | 'inbox'): (error: unknown) => void;
  /** Rejects when the daemon cannot go on: the disk fails under it. */
  readonly broken: Promise<never>;
}

const tellEveryMs = 60_000;

export function guardFiles(
  { files, storage, watch, sharing, ports }: Pick<Wiring, 'files' | 'storage' | 'watch' | 'sharing' | 'ports'>,
  signal: AbortSignal,
) {
  const { clock, log } = ports;
  let told_at = Number.NEGATIVE_INFINITY;

  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  storage.broken.catch(broken.reject);

  async function guarded(work: () => Promise<void>): Promise<void> {
    if (files.isWell('mirror') && (sharing?.leadership.trusted() ?? true)) await storage.keepTrying(work, signal);
  }

  return {
    guarded,
    whenTimeKnown: (work) =>
      guarded(async () => {
        if (watch.observe()) await work();
      }),
    failed: (file) => (error) => {
      if (files.noteDamage(file, error)) return;
      // SQLite only says that it cannot open a file.
      const mayBe = isWithoutDescriptors(error) || faultOf(error) === 'no-access';
      const exhausted = mayBe ? outOfDescriptors(error) : null;
      if (exhausted === null) {
        broken.reject(error);
        return;
      }
      if (clock.monotonic() - told_at < tellEveryMs) return;
      told_at = clock.monotonic();
      log.error({ err: error, hint: exhausted.hint }, exhausted.message);
    },
    broken: broken.promise,
  } satisfies Guard;
}
