import { hash } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { Machine } from '../../src/daemon/machine.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import { virtualClock } from '../../src/sandbox/virtual-clock.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { type NotifiedHarness, notifiedHarness } from '../fakes/notified-harness.ts';
import { nearby } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { thorough } from '../fakes/thorough.ts';
import { noon } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;

/** What each table of both files held in the end, as a digest of its rows in the order in which they are stored. */
type Digests = Readonly<Record<string, string>>;

/** Tables that are not empty in the end, where everything happened that should. */
const lived = [
  'mirror.change',
  'mirror.closure',
  'mirror.gap',
  'mirror.image_file',
  'mirror.image_takedown',
  'mirror.notice',
  'mirror.subscription',
  'inbox.callback_epoch',
  'inbox.delivery',
];

interface World {
  readonly seed: number;
  readonly days: number;
  /** Of the image host, which is part of every image's address. */
  readonly port: number;
}

/** Lives in a world where products change, close and lose images, deliveries are lost, and the service and we are away. */
async function live({ seed, days, port }: World, replaced: Partial<Machine> = {}): Promise<Digests> {
  await using stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(temporaryDirectory());
  const images = stack.use(await startImageHost({ clock: virtualClock(noon), seed, port }));
  const test = stack.use(
    await notifiedHarness(
      {
        seed,
        products: 8,
        image_origin: `http://127.0.0.1:${port}`,
        changes: { median_hours: 24, sigma: 1.5 },
        faults: [{ kind: 'any', of: 'answers', share: 0.1 }],
      },
      { scheduling: 'adaptive', images: { files: true, directory } },
      {
        fill: 'own',
        machine: (own) => ({
          ...own,
          ...replaced,
          disk: { inodeOf: () => '1' },
          network: { ...own.network, ...nearby },
        }),
      },
    ),
  );
  const { harness } = test;
  const { clock, sandbox } = harness;
  sandbox.setTroubles({ lost: 0.1, duplicated: 0.2, reordered: 0.2 });
  for (let passed = 0; passed < days; passed += 1) {
    await harness.liveUntil(clock.now() + 20 * hour, 30 * minute);
    happen(test, passed);
    if (passed % 5 === 2) await away(test);
    await harness.liveUntil(clock.now() + 4 * hour, 30 * minute);
    const [shown] = sandbox.products()[passed % 8]?.images ?? [];
    if (shown !== undefined) images.replace(shown.name);
  }
  return { ...digestsOf('mirror', harness.daemon.mirror.path), ...digestsOf('inbox', harness.daemon.inbox.path) };
}

/** Changes of one day at the service, each day others. */
function happen({ harness: { sandbox }, ids }: NotifiedHarness, passed: number): void {
  const all = ids();
  const [one = 0, other = 0] = [all[passed % all.length], all[(passed + 1) % all.length]];
  sandbox.world.edit(one, { field: 'whats_included', value: `* Day ${passed}` });
  if (passed % 3 === 0) sandbox.world.disable(other, { reason: 'private_event' });
  if (passed % 3 === 1) for (const { id } of sandbox.world.visible()) sandbox.world.enable(id);
  if (passed % 4 === 1) sandbox.products()[passed % 8]?.images.pop();
}

/** The service cannot be reached for three hours; then the daemon is away for one. */
async function away({ harness, away: leave }: NotifiedHarness): Promise<void> {
  await harness.sandbox.setReachable('no');
  await harness.liveUntil(harness.clock.now() + 3 * hour, 30 * minute);
  await harness.sandbox.setReachable('yes');
  await leave(hour);
}

function digestsOf(name: string, path: string): Digests {
  const db = new Sqlite(path, { readonly: true });
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name")
    .pluck()
    .all();
  const rowsOf = (table: string) => db.prepare(`SELECT * FROM "${table}"`).raw().all();
  const found = Object.fromEntries(tables.map((table) => [`${name}.${table}`, digestOf(rowsOf(table))]));
  db.close();
  return found;
}

const digestOf = (rows: readonly unknown[]) => hash('sha256', JSON.stringify(rows));

const differing = (one: Digests, other: Digests) =>
  Object.keys({ ...one, ...other }).filter((table) => one[table] !== other[table]);

const days = thorough ? 7 : 5;

it(`${days} virtual days of one seed leave every table of both files the same, bit by bit`, async () => {
  const world = { seed: 1, days, port: await freePort() };
  const first = await live(world);
  expect(lived.filter((table) => first[table] === digestOf([]))).toEqual([]);
  expect(differing(first, await live(world))).toEqual([]);
});

it('two worlds of different seeds, or by a chance that is nobody’s seed, do not (control)', needs('time'), async () => {
  const world = { seed: 1, days: 1, port: await freePort() };
  const first = await live(world);
  expect(differing(first, await live({ ...world, seed: 2 }))).not.toEqual([]);
  expect(differing(first, await live(world, { chance: Math.random }))).not.toEqual([]);
});
