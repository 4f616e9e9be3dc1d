import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Daemon } from '../../src/daemon/context.ts';
import { type Clock, instant, systemClock } from '../../src/kernel/clock.ts';
import type { Database } from '../../src/kernel/sqlite/database-file.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { type SandboxImageHost, startImageHost } from '../../src/sandbox/images/image-host.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { startJobs } from './daemon-jobs.ts';
import { startSandbox } from './start-sandbox.ts';
import { testConfig } from './test-config.ts';
import { testLog } from './test-log.ts';
import { nearby, testMachine } from './test-machine.ts';
import { temporaryDirectory } from './test-mirror.ts';

/** Only lists are read: images come with them. */
export const listsOnly = {
  profile: {
    authorization: { header: null },
    paths: { product: null, checkout_information: null, variants: null, experiences: null, tags: null },
  },
};

/** A mirror that the real engine has filled from the sandbox, the sandbox's image host, and a directory for the files. */
export interface ImageHarness extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly images: SandboxImageHost;
  readonly daemon: Daemon;
  readonly directory: string;
  readonly reader: Database;
  readonly log: ReturnType<typeof testLog>;
  /** Lets time pass until the next whole second, or minute, and runs every job of the daemon that is due then. */
  tick(at: 'second' | 'minute'): Promise<void>;
  /** Lives on until no image file is due any more. */
  settle(): Promise<void>;
  /** Lets so much time pass, as on a machine that was suspended. */
  later(ms: number): void;
  /** Sets the wall clock alone, and the service's with it, which the next second notices. */
  setClock(ms: number): Promise<void>;
  /** Another process, so to speak, with other settings. */
  restart(images?: Record<string, unknown>): Promise<void>;
  rows<Row = Record<string, unknown>>(sql?: string): Row[];
}

export async function imageHarness(
  images: Record<string, unknown> = {},
  { products = 6, service = listsOnly as Record<string, unknown>, asked = (_key: string): void => {} } = {},
): Promise<ImageHarness> {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  let passed = 0;
  let set = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => instant(systemClock.now() + passed + set),
    // With the wall clock alone it would be a clock that jumps, which is not believed.
    boot: () => systemClock.boot() + passed,
  };
  const host = stack.use(await startImageHost({ clock, seed: 1, asked: ({ key }) => asked(key) }));
  const sandbox = stack.use(await startSandbox({ clock, products, image_origin: host.url }));
  const directory = join(path, 'images');
  const log = testLog('info');
  const start = (settings: Record<string, unknown>) => {
    const config = testConfig(path, sandbox.url, { service, images: { files: true, directory, ...settings } });
    return startJobs(testMachine({ clock, log: log.log, network: nearby }), config);
  };
  // A first life reads the lists: what comes next is about the files alone.
  let jobs = await start({ files: false });
  stack.defer(() => jobs[Symbol.asyncDispose]());
  const tick = async (at: 'second' | 'minute') => {
    const every = at === 'second' ? 1000 : 60_000;
    passed += every - (clock.now() % every);
    await jobs.runDue();
  };
  const restart = async (settings: Record<string, unknown> = images) => {
    await jobs[Symbol.asyncDispose]();
    jobs = await start(settings);
  };
  await tick('second');
  await restart();
  const reader = stack.adopt(openMirrorForReading(jobs.daemon.config.mirror.path), (db) => {
    db.close();
  });
  return {
    sandbox,
    images: host,
    get daemon() {
      return jobs.daemon;
    },
    directory,
    reader,
    log,
    tick,
    later: (ms) => {
      passed += ms;
    },
    setClock: async (ms) => {
      set += ms;
      await tick('second');
    },
    settle: async () => {
      const { mirror, sync } = jobs.daemon;
      await tick('minute');
      while (mirror.catalogue.imageFiles.due(sync.clock.now(), 'all', 1).length > 0 && !isFull(jobs.daemon))
        await tick('second');
    },
    restart,
    rows: <Row>(sql = 'SELECT * FROM _image_file ORDER BY product_id, image_key, size') =>
      reader.prepare(sql).all() as Row[],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function isFull({ mirror, config }: Daemon): boolean {
  return mirror.catalogue.imageFiles.bytes() >= config.images.disk * 0.8;
}

/** What lies in a directory of image files, against the rows of its mirror. */
export interface FilesFound {
  readonly files: number;
  /** Under a final name, and not what that name says: part of a file, or another one. */
  readonly partial: number;
  /** Temporary files, and files that no row uses. */
  readonly orphans: number;
  /** Rows whose file is not there. */
  readonly lost: number;
}

/** Reads every file there is. */
export function inspectFiles(directory: string, db: Database): FilesFound {
  const rows = db.prepare<[], { file: string }>('SELECT DISTINCT file FROM _image_file WHERE file IS NOT NULL').all();
  const used = new Set(rows.map(({ file }) => file));
  const found = { files: 0, partial: 0, orphans: 0, lost: 0 };
  const entries = existsSync(directory) ? readdirSync(directory, { recursive: true, withFileTypes: true }) : [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    found.files += 1;
    const path = join(entry.parentPath, entry.name);
    const isFinal = /^[0-9a-f]{64}\./.test(entry.name);
    if (isFinal && hash('sha256', readFileSync(path)) !== entry.name.slice(0, 64)) found.partial += 1;
    if (!used.delete(path.slice(directory.length + 1))) found.orphans += 1;
  }
  return { ...found, lost: used.size };
}
