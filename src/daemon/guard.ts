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
   * Returns a handler that notes damage and goes on, because deliveries can still be received; any other failure of the
   * disk ends the daemon.
   */
  failed(file: 'mirror' | 'inbox'): (error: unknown) => void;
  /** Rejects when the daemon cannot go on: the disk fails under it. */
  readonly broken: Promise<never>;
}

export function guardFiles(
  { files, storage, watch, sharing }: Pick<Wiring, 'files' | 'storage' | 'watch' | 'sharing'>,
  signal: AbortSignal,
) {
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
      if (!files.noteDamage(file, error)) broken.reject(error);
    },
    broken: broken.promise,
  } satisfies Guard;
}
