import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { type FileSystemSpace, isLow, lowBelow } from '../domain/files/disk-space.ts';
import type { Logger } from '../log.ts';
import { walSizeOf } from '../sqlite/database-file.ts';
import type { FileName, StorageStatus } from './storage-status.ts';

type Directories = StorageStatus['directories'];

interface SpaceWatchOptions {
  readonly files: Readonly<Record<FileName, { readonly path: string }>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent: the file system is asked. */
  readonly spaceOf?: ((directory: string) => FileSystemSpace) | undefined;
}

const lookEveryMs = 30_000;
const lookCloselyEveryMs = 1000;
const names: readonly FileName[] = ['mirror', 'inbox'];

/** Free space in the directories of both files. */
export class SpaceWatch {
  readonly #files: SpaceWatchOptions['files'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #spaceOf: (directory: string) => FileSystemSpace;
  #low_since: number | null = null;
  #last: { readonly at: number; readonly directories: Directories } | null = null;

  constructor({ files, clock, log, spaceOf = fileSystemSpace }: SpaceWatchOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#log = log;
    this.#spaceOf = spaceOf;
  }

  /** The instant since which there is too little space for bulk reads; null if there is enough. */
  get low_since(): number | null {
    return this.#low_since;
  }

  /**
   * Returns the space, measured at most half a minute ago while there is enough, or a second ago if `why` is `closely`
   * or space is low.
   */
  directories(why: 'usual' | 'closely'): Directories {
    const at = this.#clock.monotonic();
    const patient = why === 'usual' && this.#low_since === null ? lookEveryMs : lookCloselyEveryMs;
    if (this.#last !== null && at - this.#last.at < patient) return this.#last.directories;
    const directories = this.#look(this.#last?.directories);
    this.#last = { at, directories };
    this.#tell(directories);
    return directories;
  }

  /** Drops the last measurement, so that the next one is new. */
  forget(): void {
    this.#last = null;
  }

  /** Returns the free bytes, now, of the directory that has the least. */
  freeBytes(): number {
    return Math.min(...names.map((name) => this.#spaceOf(dirname(this.#files[name].path)).free_bytes));
  }

  #look(before: Directories | undefined): Directories {
    return names.map((of, index) => {
      const path = dirname(this.#files[of].path);
      const space = this.#spaceOf(path);
      const low_below_bytes = lowBelow(space.size_bytes, walSizeOf(this.#files[of].path));
      const low = isLow(space, low_below_bytes, before?.[index]?.low === 1) ? 1 : 0;
      return { of, path, free_bytes: space.free_bytes, low_below_bytes, low };
    });
  }

  #tell(directories: Directories): void {
    const short = directories.filter(({ low }) => low === 1);
    if (short.length > 0 && this.#low_since === null) {
      this.#low_since = this.#clock.now();
      this.#log.error({ directories: short }, 'disk space is low: bulk reads pause');
    } else if (short.length === 0 && this.#low_since !== null) {
      this.#low_since = null;
      this.#log.info({ directories }, 'there is enough disk space again: bulk reads continue');
    }
  }
}

function fileSystemSpace(directory: string): FileSystemSpace {
  try {
    const { blocks, bavail, bsize } = statfsSync(directory);
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize };
  } catch {
    return { size_bytes: 0, free_bytes: 0 };
  }
}
