import { isWithoutDescriptors, outOfDescriptors } from '../sqlite/descriptors.ts';
import { faultOf } from '../sqlite/fault.ts';
import type { Wiring } from './wiring.ts';

/** Judges the errors of jobs and of the receiver. */
export interface Guard {
  /**
   * Returns a handler of errors. After damage to a file, or if no file descriptor was left, it records the error and
   * the daemon continues: deliveries can still be received, and descriptors are free again a moment later. Any other
   * failure of the disk ends the daemon.
   */
  failed(file: 'mirror' | 'inbox'): (error: unknown) => void;
  /** Rejects when the daemon cannot continue because the disk fails. */
  readonly broken: Promise<never>;
}

const tellEveryMs = 60_000;

export function guardFiles({ files, storage, ports }: Pick<Wiring, 'files' | 'storage' | 'ports'>): Guard {
  const { clock, log } = ports;
  let told_at = Number.NEGATIVE_INFINITY;

  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  storage.broken.catch(broken.reject);

  return {
    failed: (file) => (error) => {
      if (files.noteDamage(file, error)) return;
      // SQLite only reports that it cannot open a file.
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
  };
}
