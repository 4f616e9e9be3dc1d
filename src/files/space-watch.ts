import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { type FileSystemSpace, isLow, lowBelow } from '../domain/files/disk-space.ts';
import type { Logger } from '../log.ts';
import { walSizeOf } from '../sqlite/database-file.ts';
import type { FileName, StorageStatus } from './storage-status.ts';

type Directories = StorageStatus['directories'];

/** Free space in the directories of both files. */
export interface SpaceWatch {
  /**
   * Returns the space, measured at most half a minute ago while there is enough, or a second ago if `why` is `closely`
   * or space is low.
   */
  directories(why: 'usual' | 'closely'): Directories;
  /** Drops the last measurement, so that the next one is new. */
  forget(): void;
  /** Returns the instant since which there is too little space for bulk reads; null if there is enough. */
  lowSince(): number | null;
  /** Returns the free bytes, now, of the directory that has the least. */
  freeBytes(): number;
}

export interface SpaceWatchOptions {
  readonly files: Readonly<Record<FileName, { readonly path: string }>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Null: the file system is asked. */
  readonly spaceOf: ((directory: string) => FileSystemSpace) | null;
}

const lookEveryMs = 30_000;
const lookCloselyEveryMs = 1000;
const names: readonly FileName[] = ['mirror', 'inbox'];

export function watchSpace({ files, clock, log, spaceOf: given }: SpaceWatchOptions): SpaceWatch {
  const spaceOf = given ?? fileSystemSpace;
  let low_since: number | null = null;
  let spaces: { at: number; directories: Directories } | null = null;

  function look(before: Directories | undefined): Directories {
    return names.map((of, index) => {
      const path = dirname(files[of].path);
      const space = spaceOf(path);
      const low_below_bytes = lowBelow(space, walSizeOf(files[of].path));
      const low = isLow(space, low_below_bytes, before?.[index]?.low === 1) ? 1 : 0;
      return { of, path, free_bytes: space.free_bytes, low_below_bytes, low };
    });
  }

  function tell(found: Directories): void {
    const short = found.filter(({ low }) => low === 1);
    if (short.length > 0 && low_since === null) {
      low_since = clock.now();
      log.error({ directories: short }, 'disk space is low: bulk reads pause');
    } else if (short.length === 0 && low_since !== null) {
      low_since = null;
      log.info({ directories: found }, 'there is enough disk space again: bulk reads continue');
    }
  }

  return {
    directories: (why) => {
      const at = clock.monotonic();
      const patient = why === 'usual' && low_since === null ? lookEveryMs : lookCloselyEveryMs;
      if (spaces !== null && at - spaces.at < patient) return spaces.directories;
      spaces = { at, directories: look(spaces?.directories) };
      tell(spaces.directories);
      return spaces.directories;
    },
    forget: () => {
      spaces = null;
    },
    lowSince: () => low_since,
    freeBytes: () => Math.min(...names.map((name) => spaceOf(dirname(files[name].path)).free_bytes)),
  };
}

function fileSystemSpace(directory: string): FileSystemSpace {
  try {
    const { blocks, bavail, bsize } = statfsSync(directory);
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize };
  } catch {
    return { size_bytes: 0, free_bytes: 0 };
  }
}
