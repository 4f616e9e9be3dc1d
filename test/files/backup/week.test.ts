import { hash } from 'node:crypto';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { makeBackup } from '../../../src/files/backup/make.ts';
import { restoreBackup } from '../../../src/files/backup/restore.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { document } from '../../documents.ts';
import { canary } from '../../fakes/canary.ts';
import { freePort } from '../../fakes/free-port.ts';
import { needs } from '../../fakes/needs.ts';
import { notifiedHarness } from '../../fakes/notified-harness.ts';
import { openReader } from '../../fakes/reader.ts';
import { runCli, startCli } from '../../fakes/run-cli.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testConfigText } from '../../fakes/test-config.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** A storefront's own copy of titles and sales, kept by the change feed alone. */
function follower(path: string) {
  const copy = new Map<number, string>();
  let cursor: { next: number; feed: string | null } | null = null;
  let starts = 0;
  const row = (id: number) => {
    using reader = openReader(path);
    const found = reader.product(id);
    return found === null ? null : `${found.title} ${found.sellable}`;
  };
  const note = (id: number) => {
    const text = row(id);
    if (text === null) copy.delete(id);
    else copy.set(id, text);
  };
  return {
    starts: () => starts,
    copy,
    follow: () => {
      using reader = openReader(path);
      if (cursor === null) {
        starts += 1;
        cursor = reader.newest();
        copy.clear();
        for (const id of idsIn(path)) note(id);
      }
      for (;;) {
        try {
          const page = reader.changes(cursor.next, { feed: cursor.feed ?? undefined });
          for (const { product_id } of page.changes) if (product_id !== null) note(product_id);
          const isEnd = page.next === cursor.next;
          cursor = { next: page.next, feed: page.feed };
          if (isEnd) return;
        } catch (error) {
          if ((error as Error).name !== 'FeedChanged') throw error;
          cursor = null;
          return;
        }
      }
    },
  };
}

function idsIn(path: string): number[] {
  const db = new Database(path, { readonly: true });
  const ids = db.prepare<[], number>("SELECT product_id FROM products WHERE language = 'en'").pluck().all();
  db.close();
  return ids;
}

it(
  "last week's backup with a delivery and a feed reader across it: nothing is lost, and the reader starts again once",
  needs('time'),
  async () => {
    await using world = await notifiedHarness();
    const { harness } = world;
    const { path } = harness.daemon.config.mirror;
    const { config } = harness.daemon;
    const old = follower(path);
    old.follow();
    const order = { mirror: path, inbox: config.mirror.inbox_path, directory: config.backup.directory };
    const { backup } = makeBackup({ ...order, why: 'asked', made_by: 'catalogued test', now: harness.clock.now() });
    const [one = 0, two = 0, three = 0, four = 0] = world.ids();
    for (let days = 0; days < 7; days += 1) {
      harness.sandbox.world.edit(one, { field: 'title', value: `Title of day ${days}` });
      await world.live(day, hour);
      old.follow();
    }
    harness.sandbox.world.disable(two, { reason: 'flooded' });
    await world.live(hour);
    old.follow();
    expect(old.starts()).toBe(1);
    expect(old.copy.get(two)).toMatch(/ 0$/);
    await harness.restart({
      meanwhile: async () => {
        // Announced while nobody receives: the service tries again.
        harness.sandbox.world.edit(three, { field: 'title', value: 'Announced meanwhile' });
        const done = restoreBackup(config, backup, { now: harness.clock.now(), dry: false });
        expect(done).toMatchObject({ inbox: 'kept' });
      },
    });
    const young = follower(path);
    young.follow();
    harness.sandbox.world.edit(four, { field: 'title', value: 'After the restore' });
    for (let hours = 0; hours < 6; hours += 1) {
      await world.live(hour);
      old.follow();
      young.follow();
    }
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [] });
    old.follow();
    young.follow();
    expect([old.starts(), young.starts()]).toEqual([2, 1]);
    const fresh = follower(path);
    fresh.follow();
    expect([...old.copy].sort()).toEqual([...fresh.copy].sort());
    expect([...young.copy].sort()).toEqual([...fresh.copy].sort());
    expect([one, three, four].map((id) => fresh.copy.get(id))).toEqual([
      'Title of day 6 1',
      'Announced meanwhile 1',
      'After the restore 1',
    ]);
  },
);

describe('moving to another host', needs('time'), () => {
  /** The commands of the recipe in docs/operating.md, in its order. */
  function recipe(): string[] {
    const text = /\*\*Moving to another host\*\*:([\s\S]*?)\n- \*\*/.exec(document('docs/operating.md'))?.[1] ?? '';
    return [...text.matchAll(/`(catalogued [^`]+)`/g)].map(([, command = '']) => command);
  }

  it('by the recipe of the documents brings everything: addresses, deliveries not applied, the schedule', async () => {
    expect(recipe()).toEqual(['catalogued backup /tmp/move', 'catalogued restore DIR']);
    using old = temporaryDirectory();
    using now = temporaryDirectory();
    const port = await freePort();
    await using sandbox = await startSandbox({ products: 8, lean: true, hold_ms: 0 });
    const configured = (directory: string) => {
      const file = join(directory, 'catalogued.yaml');
      const text = testConfigText(directory, sandbox.url, {
        signing: { body: 'json' },
        receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
        subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
      });
      writeFileSync(file, text);
      return ['--config', file];
    };
    const env = { CATALOGUED_RECEIVER_SECRET: canary.master };
    const here = { cwd: old.path, env };
    const there = { cwd: now.path, env };
    const first = startCli([...configured(old.path), 'run'], here);
    await first.said('pass ended');
    expect(await runCli([...configured(old.path), 'subscription', 'apply'], here)).toMatchObject({ code: 0 });
    const address = sandbox.subscriptions()[0]?.callback_url ?? '';
    first.child.kill('SIGTERM');
    await first.ended;
    const body = JSON.stringify({ subscription_id: 'all', products: [] });
    unapplied(join(old.path, 'state/inbox.db'), body);

    const moved = join(old.path, 'move');
    const [backup = '', restore = ''] = recipe();
    const made = await runCli(
      [...configured(old.path), ...backup.replace('/tmp/move', moved).split(' ').slice(1)],
      here,
    );
    expect(made).toMatchObject({ code: 0 });
    const name = made.stdout.split(/[ ,]+/)[1] ?? '';
    const copied = join(now.path, 'move');
    cpSync(name, copied, { recursive: true });
    rmSync(join(old.path, 'state'), { recursive: true });
    rmSync(join(old.path, 'mirror'), { recursive: true });
    expect(
      await runCli([...configured(now.path), ...restore.replace('DIR', copied).split(' ').slice(1)], there),
    ).toMatchObject({ code: 0 });

    const calls = sandbox.calls.counts().calls;
    const second = startCli([...configured(now.path), 'run'], there);
    await second.said('daemon started');
    // What the service has as address is answered by the new host: nothing has to be told to it.
    const answer = await fetch(address, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect(answer.status).toBe(200);
    const status = await runCli([...configured(now.path), 'status', '--json'], there);
    expect(JSON.parse(status.stdout)).toMatchObject({ products: { visible: 8 }, inbox: { waiting: 0 } });
    const read = sandbox.calls.counts().calls - calls;
    expect(read).toBeLessThan(calls);
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
    expect(readFileSync(join(copied, 'manifest.json'), 'utf8')).toContain('"why": "asked"');
  });
});

/** Stores a delivery that no daemon has applied yet, as the last one was stored. */
function unapplied(inbox: string, body: string): void {
  const db = new Database(inbox);
  const table = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE name IN ('delivery', '_delivery')")
    .pluck()
    .get();
  db.prepare(
    `INSERT INTO ${table} (received_at, subscription_id, epoch, peer, length, truncated, sha256, body)
     VALUES (?, 'all', 1, '127.0.0.1', ?, 0, ?, ?)`,
  ).run(systemClock.now(), body.length, hash('sha256', body), Buffer.from(body));
  db.close();
}
