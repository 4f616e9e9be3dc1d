import type { Wiring } from './wiring.ts';

/** What stands between work and the two files: nothing is done for a file that is lost or damaged. */
export interface Guard {
  /**
   * Does nothing for a mirror that no reader finds, or whose pages are damaged. Waits for a full disk and another program's
   * lock; rejects with whatever else fails.
   */
  guarded(work: () => Promise<void>): Promise<void>;
  /** The same, unless it is not even known what the time is. */
  whenTimeKnown(work: () => Promise<void>): Promise<void>;
  /** Tells of damage and lives with it, because deliveries can still be taken; what else the disk does ends the daemon. */
  failed(file: 'mirror' | 'inbox'): (error: unknown) => void;
  /** Rejects when the daemon cannot go on: the disk fails under it. */
  readonly broken: Promise<never>;
}

export function guardFiles(
  { files, storage, watch }: Pick<Wiring, 'files' | 'storage' | 'watch'>,
  signal: AbortSignal,
) {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  storage.broken.catch(broken.reject);

  async function guarded(work: () => Promise<void>): Promise<void> {
    if (files.isWell('mirror')) await storage.keepTrying(work, signal);
  }

  return {
    guarded,
    whenTimeKnown: (work) =>
      guarded(async () => {
        if (watch.observe()) await work();
      }),
    failed: (file) => (error) => {
      if (!files.noteDamage(file, error)) broken.reject(error);
    },
    broken: broken.promise,
  } satisfies Guard;
}
