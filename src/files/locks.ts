import { dirname } from 'node:path';
import type { Config } from '../config/load.ts';
import { prepareDirectory } from '../kernel/sqlite/directory.ts';
import { acquireLock, acquireMirrorLock } from '../kernel/sqlite/lock.ts';

/** Takes the right to write both files (75), until it is disposed of. */
export type HoldFiles = (config: Config) => Disposable;

export const holdFiles: HoldFiles = ({ mirror: { state_dir, path } }) => {
  using stack = new DisposableStack();
  stack.use(acquireLock(state_dir));
  stack.use(acquireMirrorLock(path));
  return stack.move();
};

/** Does the same where both files may be missing: makes their directories first. */
export function holdFilesToBe(config: Config): Disposable {
  const { path, inbox_path, state_dir } = config.mirror;
  prepareDirectory(dirname(path), 0o3770);
  prepareDirectory(state_dir, 0o700);
  prepareDirectory(dirname(inbox_path), 0o700);
  return holdFiles(config);
}

/** The right to write, kept from one configuration to the next. Neither configuration may move the files. */
export interface KeptLocks extends Disposable {
  readonly hold: HoldFiles;
}

/** Keeps the first lock. Releasing it is a no-op: it is held until this object is disposed of. */
export function keepLocks(locks: HoldFiles): KeptLocks {
  let held: Disposable | null = null;
  return {
    hold: (config) => {
      held ??= locks(config);
      return { [Symbol.dispose]: () => undefined };
    },
    [Symbol.dispose]: () => held?.[Symbol.dispose](),
  };
}
