import { hash, randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { TestProject } from 'vitest/node';
import { walSizeOf } from '../../src/kernel/sqlite/database-file.ts';
import { prepareDirectory } from '../../src/kernel/sqlite/directory.ts';
import { writeLastStop } from '../../src/kernel/sqlite/last-stop.ts';
import { runMark } from './no-child-outlives.ts';

/** Everything outside the files that a world had when it was closed, and that the next process goes on with. */
export interface WorldState {
  /** Milliseconds on the clock since the start of the world. */
  readonly elapsed: number;
  /** Numbers drawn from the chance and bytes drawn from the entropy of the daemon: neither is drawn twice. */
  readonly chance: number;
  readonly entropy: number;
}

/** Files of a world within its directory, as `testConfig` places them. */
const files = ['mirror/mirror.db', 'state/inbox.db'] as const;
const state = 'world.json';

/**
 * Keeps filled worlds for the length of a run. The first test that needs a world makes it and closes it; each test,
 * this one too, begins with a copy, as a daemon that starts again. Workers share the directory.
 */
export class FilledWorlds {
  /** Null: the process belongs to no run that would remove the directory. Every world is then made where it is used. */
  readonly #directory: string | null;
  /** Patterns of the files that decide how a world is filled, and where they begin. */
  readonly #root: string;
  readonly #sources: readonly string[];
  /** Hash of those files, once a key was asked for. */
  #hash: string | null = null;

  constructor(directory: string | null, root: string, sources: readonly string[]) {
    this.#directory = directory;
    this.#root = root;
    this.#sources = sources;
  }

  /**
   * Returns the key of a world that is made from `parts`, whatever the order of their members. Throws where one of
   * them is a function: it has no text.
   */
  key(parts: unknown): string {
    const text = JSON.stringify(parts, (name, value: unknown) => {
      if (typeof value === 'function') throw new Error(`${name} is a function: it cannot be part of a world's key`);
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
    });
    this.#hash ??= this.#hashOfSources();
    return hash('sha256', `${this.#hash} ${text}`);
  }

  /** Copies the world of this key into a directory. `make` fills one in the directory that it is given and closes it. */
  async copyTo(path: string, key: string, make: (path: string) => Promise<WorldState>): Promise<WorldState> {
    const kept = this.#directory === null ? null : join(this.#directory, key);
    if (kept === null) {
      const made = await make(path);
      settle(path);
      return made;
    }
    if (!existsSync(kept)) await this.#make(kept, make);
    for (const file of files) {
      prepareDirectory(dirname(join(path, file)), file.startsWith('mirror') ? 0o3770 : 0o700);
      copyFileSync(join(kept, file), join(path, file));
    }
    noteStop(path);
    return JSON.parse(readFileSync(join(kept, state), 'utf8')) as WorldState;
  }

  /** Makes a world under a name of its own, so that it stands whole under its key; the first of two workers wins. */
  async #make(kept: string, make: (path: string) => Promise<WorldState>): Promise<void> {
    const own = `${kept}.${randomUUID()}`;
    mkdirSync(own, { recursive: true });
    const made = await make(own);
    settle(own);
    writeFileSync(join(own, state), JSON.stringify(made));
    try {
      renameSync(own, kept);
    } catch (error) {
      rmSync(own, { recursive: true, force: true });
      if (!existsSync(kept)) throw error;
    }
  }

  #hashOfSources(): string {
    const names = this.#sources.flatMap((pattern) => globSync(pattern, { cwd: this.#root })).sort();
    if (names.length === 0) throw new Error('a world without sources');
    return hash('sha256', names.map((name) => `${name}\n${readFileSync(join(this.#root, name), 'utf8')}`).join('\n'));
  }
}

/** Has the files of a closed world take any place: the inbox knows the mirror beside it by its inode. */
function settle(path: string): void {
  for (const file of files)
    if (walSizeOf(join(path, file)) > 0) throw new Error(`${file} was not closed: its log is still there`);
  const inbox = new Database(join(path, files[1]));
  inbox.exec('UPDATE inbox SET mirror_inode = NULL');
  inbox.close();
  noteStop(path);
}

/** Notes that the files were left in order: a start does not go through them then. */
function noteStop(path: string): void {
  const left = { damage: null, checked_at: null };
  writeLastStop(
    join(path, 'state', 'last-stop.json'),
    Object.fromEntries(files.map((file) => [join(path, file), left])),
  );
}

function directoryOf(run: string, temporary: string): string {
  return join(temporary, `catalogued-worlds-${run}`);
}

const run = process.env[runMark];

/** The worlds of this run. */
export const filledWorlds = new FilledWorlds(
  run === undefined ? null : directoryOf(run, tmpdir()),
  join(import.meta.dirname, '../..'),
  ['src/**/*.ts', 'schema/**/*.sql', 'test/fakes/*.ts', 'package-lock.json'],
);

/** Removes the worlds at the end of a run: a global set-up of vitest. */
export default function removeWorlds({ config }: TestProject): () => void {
  const { [runMark]: ended, TMPDIR: temporary = tmpdir() } = config.env as Readonly<Record<string, string>>;
  return () => {
    if (ended !== undefined) rmSync(directoryOf(ended, temporary), { recursive: true, force: true });
  };
}
