import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/kernel/clock.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import { roll } from '../../src/sandbox/random.ts';
import { startJobs } from '../fakes/daemon-jobs.ts';
import { type FilesFound, inspectFiles, listsOnly } from '../fakes/image-harness.ts';
import { type RunningCli, startProgram } from '../fakes/run-cli.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { nearby, testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

export interface ImageKills {
  readonly images: number;
  /** Files under a final name that were not whole, summed over what each kill left. */
  readonly partial: number;
  /** What the kills left for the sweeps, and what there was when all was done. */
  readonly left: number;
  readonly found: FilesFound;
  /** Bytes: of all files, of what came again because of the kills, and of a second run over all of them. */
  readonly bytes: number;
  readonly again: number;
  readonly second: number;
  readonly unchanged: number;
}

/** Fetches at least `images` files by a process that is killed again and again, then whole, then once more. */
export async function killImages({
  images,
  kills,
  mode,
  seed,
}: {
  images: number;
  kills: number;
  mode: 'honest' | 'straight';
  seed: number;
}): Promise<ImageKills> {
  using place = temporaryDirectory();
  const directory = join(place.path, 'images');
  let reached = { requests: Number.POSITIVE_INFINITY, tell: () => {} };
  let requests = 0;
  const asked = () => {
    requests += 1;
    if (requests >= reached.requests) reached.tell();
  };
  await using host = await startImageHost({ clock: systemClock, seed, halves_ms: 1, asked });
  // Five images a product or a little less.
  await using sandbox = await startSandbox({
    seed,
    products: Math.ceil(images / 4),
    image_origin: host.url,
  });
  const path = await fill(place.path, sandbox.url);
  const total = look(path, (db) => db.prepare('SELECT count(*) FROM _image_file').pluck().get() as number);

  let partial = 0;
  let left = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const met = Promise.withResolvers<void>();
    reached = { requests: requests + Math.ceil((total / (kills + 1)) * (0.5 + roll(seed, kill))), tell: met.resolve };
    const child = start(place.path, sandbox.url, mode);
    await Promise.race([met.promise, child.ended]);
    await systemClock.sleep(3 * roll(seed, kill, 'moment'));
    await child.end('SIGKILL');
    const found = look(path, (db) => inspectFiles(directory, db));
    partial += found.partial;
    left += found.orphans;
  }
  reached = { requests: Number.POSITIVE_INFINITY, tell: () => {} };
  await start(place.path, sandbox.url, mode).ended;
  const fetched = host.bytes();
  const found = look(path, (db) => inspectFiles(directory, db));
  const bytes = look(path, (db) => db.prepare('SELECT sum(bytes) FROM _image_file').pluck().get() as number | null);
  host.forget();
  look(path, (db) => db.exec('UPDATE _image_file SET due_at = 0'));
  await start(place.path, sandbox.url, mode).ended;
  return {
    images: total,
    partial,
    left,
    found,
    bytes: bytes ?? 0,
    again: fetched - (bytes ?? 0),
    second: host.bytes(),
    unchanged: host.unchanged(),
  };
}

/** A mirror with the list of all products, and a row for each file; returns where it is. */
async function fill(place: string, service: string): Promise<string> {
  const images = { files: true, directory: join(place, 'images') };
  const config = testConfig(place, service, { service: listsOnly, images });
  await using jobs = await startJobs(testMachine({ network: nearby }), config);
  const { mirror } = jobs.daemon;
  const list = { resource: 'products', product_id: 0, edition: 'en/EUR', part: 0 } as const;
  const reading = jobs.run('pass');
  while (mirror.schedule.records.find(list)?.fetched_at == null) await systemClock.sleep(10);
  // Which files are wanted; the host is not asked here.
  await jobs.run('image-limits');
  jobs.stop();
  await reading;
  return mirror.path;
}

function start(place: string, service: string, mode: string): RunningCli {
  return startProgram([process.execPath, join(import.meta.dirname, 'image-child.ts'), place, service, mode]);
}

function look<Result>(path: string, at: (db: Database.Database) => Result): Result {
  const db = new Database(path);
  try {
    return at(db);
  } finally {
    db.close();
  }
}
