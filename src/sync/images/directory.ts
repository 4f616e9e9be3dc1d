import { existsSync, mkdirSync, unlinkSync } from 'node:fs';
import { type FileHandle, open, opendir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Entropy, newId } from '../../clock.ts';
import { filePattern } from '../../domain/catalogue/image-file.ts';

/** The directory cannot be written: it is full, read-only, or not ours. Nothing that the mirror depends on. */
export class DirectoryFailed extends Error {
  override readonly name = 'DirectoryFailed';
  /** There is no room: it passes, and no file is to blame. */
  readonly full: boolean;
  constructor(cause: unknown) {
    const { code } = cause as NodeJS.ErrnoException;
    super(`the image directory cannot be written (${code ?? String(cause)})`, { cause });
    this.full = code === 'ENOSPC' || code === 'EDQUOT';
  }
}

/** A file that comes: under a temporary name until it is whole. Disposing gives it up, unless it was kept. */
export interface IncomingFile extends AsyncDisposable {
  write(part: Uint8Array): Promise<void>;
  /**
   * Makes it durable under its final name, calls `record` (which notes it in the mirror), and is done. Whoever sees
   * the final name sees the whole file, also after a power cut.
   */
  keep(file: string, record: () => void): Promise<void>;
}

/** The directory of the image files. Only what it has named itself is ever removed. All of it throws `DirectoryFailed`. */
export interface ImageDirectory {
  begin(): Promise<IncomingFile>;
  /** Removes files; one that is not there is fine. Never one that is being kept at this moment. */
  remove(files: readonly string[]): void;
  has(file: string): boolean;
  /** Every file of ours: those with a final name, and temporary ones that nobody writes any more. */
  list(): AsyncIterable<{ readonly kind: 'final' | 'temporary'; readonly file: string }>;
}

const temporaryName = /^\.[0-9a-f-]{36}\.part$/;

export function imageDirectory(path: string, entropy: Entropy): ImageDirectory {
  const writing = new Set<string>();
  const keeping = new Map<string, number>();

  async function create(name: string): Promise<FileHandle> {
    writing.add(name);
    try {
      // Readers are in the group of the directory, as with the mirror.
      mkdirSync(path, { recursive: true, mode: 0o750 });
      return await open(join(path, name), 'wx', 0o640);
    } catch (error) {
      writing.delete(name);
      throw new DirectoryFailed(error);
    }
  }

  async function place(temporary: string, file: string): Promise<void> {
    const final = join(path, file);
    const made = mkdirSync(dirname(final), { recursive: true, mode: 0o750 });
    await rename(temporary, final);
    await syncDirectory(dirname(final));
    // A new directory is an entry of the one above it.
    if (made !== undefined) await Promise.all([syncDirectory(dirname(dirname(final))), syncDirectory(path)]);
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
        // Where it was kept, nothing has this name any more; what cannot be removed is left to the sweep.
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
