import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { instant } from '../../src/kernel/clock.ts';
import { openInbox } from '../../src/receiver/inbox.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { filledHarness } from './virtual-harness.ts';

/*
 * The two files that a release leaves in test/fixtures/files, made by its own program: a few products, and a little of all that
 * happens. `node test/fakes/kept-files.ts test/fixtures/files/1.1.0` makes them.
 */

/** Options of the harness whose world the files are of. */
export const keptWorld = [{ products: 4, lean: true }, { cadence: { products: '1h' } }] as const;

/** Milliseconds that the daemon lives on once the service has changed: it has read all of it then. */
export const livedOn = 4 * 3_600_000;

/** Changes a title, withdraws a product and closes one. */
export function change(world: World): void {
  const [edited, withdrawn, closed] = world.visible();
  if (edited === undefined || withdrawn === undefined || closed === undefined) throw new Error('too few products');
  edited.title = 'Another Name';
  withdrawn.withdrawn = true;
  world.disable(closed.id, { reason: 'out_of_season', expected_reopening: 'more_than_month' });
}

/** The directory of those files: one of each version. */
export const keptFiles = new URL('../fixtures/files/', import.meta.url);

/** Puts the files of a release where those of a mirror stand, as `testConfig` places them. */
export function putFiles(version: string, mirror: string): void {
  const inbox = join(dirname(mirror), '../state/inbox.db');
  for (const [name, path] of [
    ['mirror', mirror],
    ['inbox', inbox],
  ] as const) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, brotliDecompressSync(readFileSync(new URL(`${version}/${name}.db.br`, keptFiles))));
  }
}

/** Stores deliveries, which wait. */
function receive(path: string, now: number): void {
  using inbox = openInbox(path, { master: null, now: instant(now) });
  const body = Buffer.from('{"products":[]}');
  const of = { subscription_id: 'all', epoch: 1, peer: '::1', content_type: 'application/json', truncated: false };
  inbox.deliveries.store([1, 2, 3].map((ms) => ({ ...of, received_at: instant(now + ms), body, length: body.length })));
}

/** Writes a file of ours, small and as one that stands at another place. */
function pack(path: string, to: string): void {
  rmSync(to, { force: true });
  const db = new Database(path);
  db.prepare('VACUUM INTO ?').run(to);
  db.close();
  const copy = new Database(to);
  if (to.endsWith('inbox.db')) copy.exec('UPDATE inbox SET mirror_inode = NULL');
  copy.pragma('journal_mode = DELETE');
  writeFileSync(`${to}.br`, brotliCompressSync(copy.serialize()));
  copy.close();
  rmSync(to);
}

async function makeFiles(directory: string): Promise<void> {
  await using harness = await filledHarness(...keptWorld);
  change(harness.sandbox.world);
  await harness.live(livedOn);
  const { path, inbox_path } = harness.daemon.config.mirror;
  await harness.restart({
    meanwhile: async () => {
      receive(inbox_path, harness.clock.now());
      pack(path, join(directory, 'mirror.db'));
      pack(inbox_path, join(directory, 'inbox.db'));
    },
  });
}

if (import.meta.main) await makeFiles(process.argv[2] ?? '.');
