import { existsSync, unlinkSync } from 'node:fs';
import { type FileHandle, open, opendir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Entropy, newId } from '../kernel/clock.ts';
import { isWithoutRoom } from '../kernel/sqlite/fault.ts';
import { makeDirectory } from '../kernel/sqlite/make-directory.ts';
import { filePattern } from './image.rules.ts';

/**
 * Thrown when the image directory cannot be used: it is full, read-only, or not ours. The mirror does not depend on it.
 */
export class DirectoryFailed extends Error {
  override readonly name = 'DirectoryFailed';
  /** True: it is full. That passes, and no file is to blame. */
  readonly full: boolean;
  constructor(cause: unknown) {
    const { code } = cause as NodeJS.ErrnoException;
    super(`the image directory cannot be written (${code ?? String(cause)})`, { cause });
    this.full = isWithoutRoom(cause);
  }
}

/** A file being received, under a temporary name until it is complete. Disposing discards it unless it was kept. */
export interface IncomingFile extends AsyncDisposable {
  write(part: Uint8Array): Promise<void>;
  /**
   * Makes the file durable under its final name, then calls `record`, which stores it in the mirror. Under the final
   * name the file is always complete, even after a power cut.
   */
  keep(file: string, record: () => void): Promise<void>;
}

/**
 * The directory of the image files. Removes only files with names of its own making. Every function throws
 * `DirectoryFailed`.
 */
export interface ImageDirectory {
  begin(): Promise<IncomingFile>;
  /** Removes files and ignores missing ones. Never removes a file that is being kept at the moment. */
  remove(files: readonly string[]): void;
  has(file: string): boolean;
  /** Lists our files: those with a final name, and temporary ones that no process writes any more. */
  list(): AsyncIterable<{ readonly kind: 'final' | 'temporary'; readonly file: string }>;
}

const temporaryName = /^\.[0-9a-f-]{36}\.part$/;

export function imageDirectory(path: string, entropy: Entropy): ImageDirectory {
  const writing = new Set<string>();
  const keeping = new Map<string, number>();

  async function create(name: string): Promise<FileHandle> {
    writing.add(name);
    try {
      // Readers belong to the directory's group, as with the mirror.
      makeDirectory(path, 0o750);
      return await open(join(path, name), 'wx', 0o640);
    } catch (error) {
      writing.delete(name);
      throw new DirectoryFailed(error);
    }
  }

  async function place(temporary: string, file: string): Promise<void> {
    const final = join(path, file);
    const made = makeDirectory(dirname(final), 0o750);
    await rename(temporary, final);
    await syncDirectory(dirname(final));
    // A new directory is an entry of its parent, which must be synced.
    if (made) await Promise.all([syncDirectory(dirname(dirname(final))), syncDirectory(path)]);
  }

  async function begin(): Promise<IncomingFile> {
    const name = `.${newId(entropy)}.part`;
    const temporary = join(path, name);
    const handle = await create(name);
    return {
      write: (part) => writeAll(handle, part).catch(failed),
      keep: async (file, record) => {
        keeping.set(file, (keeping.get(file) ?? 0) + 1);
        try {
          await handle.sync().catch(failed);
          await place(temporary, file).catch(failed);
          record();
        } finally {
          const left = (keeping.get(file) ?? 1) - 1;
          if (left === 0) keeping.delete(file);
          else keeping.set(file, left);
        }
      },
      [Symbol.asyncDispose]: async () => {
        await handle.close().catch(() => undefined);
        // A kept file no longer has this name; a file that cannot be removed is left to the sweep.
        await unlink(temporary).catch(() => undefined);
        writing.delete(name);
      },
    };
  }

  return {
    begin,
    remove: (files) => {
      let failure: unknown = null;
      for (const file of files) {
        if (keeping.has(file) || !(filePattern.test(file) || temporaryName.test(file))) continue;
        try {
          unlinkSync(join(path, file));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') failure = error;
        }
      }
      if (failure !== null) throw new DirectoryFailed(failure);
    },
    has: (file) => existsSync(join(path, file)),
    list: async function* () {
      if (!existsSync(path)) return;
      for await (const first of entries(path)) {
        if (temporaryName.test(first) && !writing.has(first)) yield { kind: 'temporary', file: first };
        if (!/^[0-9a-f]{2}$/.test(first)) continue;
        for await (const second of entries(join(path, first)))
          for await (const name of entries(join(path, first, second))) {
            const file = `${first}/${second}/${name}`;
            if (filePattern.test(file)) yield { kind: 'final', file };
          }
      }
    },
  };
}

async function writeAll(handle: FileHandle, part: Uint8Array): Promise<void> {
  for (let from = 0; from < part.length; ) {
    const { bytesWritten } = await handle.write(part, from);
    from += bytesWritten;
  }
}

async function* entries(path: string): AsyncIterable<string> {
  try {
    for await (const { name } of await opendir(path)) yield name;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw new DirectoryFailed(error);
  }
}

async function syncDirectory(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}

function failed(error: unknown): never {
  throw new DirectoryFailed(error);
}
