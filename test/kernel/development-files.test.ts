import { hash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { FollowedFile } from '../../src/copies/follow/followed-file.ts';
import { follow } from '../../src/copies/follow/follower.ts';
import type { RowSource } from '../../src/copies/follow/source.ts';
import { startRefusal } from '../../src/files/pair.ts';
import { repairFiles } from '../../src/files/repair.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import { wasOurs } from '../../src/kernel/sqlite/file.ts';
import { publishCopy } from '../../src/kernel/sqlite/published-copy.ts';
import { openInbox } from '../../src/receiver/inbox.ts';
import { ofDevelopment } from '../fakes/development.ts';
import { fileRows } from '../fakes/file-rows.ts';
import { notifiedHarness } from '../fakes/notified-harness.ts';
import { openReader } from '../fakes/reader.ts';
import { testLog } from '../fakes/test-log.ts';
import { emptyMirror, temporaryDirectory } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';
import { host } from '../files/backup/hosts.ts';

const minute = 60_000;
const digest = (path: string) => hash('sha256', readFileSync(path));
const refused = { code: 'development-file', exitCode: 65, message: expect.stringContaining('a development version') };
const says =
  /^Error: \S+ cannot be used: it was written by a development version, before 1\.0\.0\nTry: stop the daemon, and: catalogued repair, [^\n]+Lost are the callback addresses \(the subscriptions are applied again\) and the feed numbers [^\n]+\n$/;

describe('files of a development version', () => {
  it('are refused by run, status and doctor in one line with its command, untouched; repair sets them aside', async () => {
    using here = host();
    const state = join(here.path, 'state');
    expect((await here.run('repair')).code).toBe(0);
    const inbox = join(state, 'inbox.db');
    ofDevelopment(here.mirror, 'mirror');
    ofDevelopment(inbox, 'inbox');
    const before = [here.mirror, inbox].map(digest);
    for (const command of ['run', 'status']) {
      const { code, stderr } = await here.run(command);
      expect([command, code]).toEqual([command, 65]);
      expect(stderr).toMatch(says);
    }
    expect((await here.run('doctor')).stdout).toMatch(/mirror\.db cannot be used: it was written by a development/);
    expect([here.mirror, inbox].map(digest)).toEqual(before);
    const { code, stdout } = await here.run('repair');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Mirror {4}it was written by a development version/);
    const aside = [here.mirror, inbox].map((path) => {
      const quarantine = join(dirname(path), 'quarantine');
      return readdirSync(quarantine)
        .filter((name) => name.endsWith('.db'))
        .map((name) => digest(join(quarantine, name)));
    });
    expect(aside).toEqual(before.map((each) => [each]));
    expect((await here.run('repair')).stdout).toMatch(/there is nothing to repair/);
  });

  it('are begun again with a new feed, and subscriptions at new addresses, whatever the service still calls', async () => {
    await using test = await notifiedHarness();
    await test.work.rotate('all', new AbortController().signal);
    await test.live(2 * minute);
    const feed = test.query<{ feed_id: string }>('SELECT feed_id FROM mirror_info')[0]?.feed_id;
    const { config, mirror } = test.harness.daemon;
    const { inbox_path } = config.mirror;
    await test.harness.restart({
      meanwhile: async () => {
        ofDevelopment(mirror.path, 'mirror');
        ofDevelopment(inbox_path, 'inbox');
        expect(startRefusal(config)).toMatchObject(refused);
        expect(repairFiles(config, { now: test.harness.clock.now(), dry: false })).toMatchObject({
          plan: { mirror: 'quarantine', inbox: 'quarantine' },
        });
      },
    });
    await test.harness.fill();
    await test.live(10 * minute);
    const db = new Database(inbox_path, { readonly: true });
    expect(db.prepare('SELECT epoch, announced_at > 0 AS told FROM callback_epoch').all()).toEqual([
      { epoch: 1, told: 1 },
    ]);
    db.close();
    expect(test.query('SELECT status FROM subscriptions')).toEqual([{ status: 'active' }]);
    expect(test.query<{ feed_id: string }>('SELECT feed_id FROM mirror_info')[0]?.feed_id).not.toBe(feed);
    const [id = 0] = test.ids();
    test.harness.sandbox.world.disable(id, { reason: 'out_of_season', expected_reopening: 'more_than_month' });
    await test.live(6 * minute);
    expect(test.query('SELECT last_delivery_at > 0 AS heard FROM subscriptions')).toEqual([{ heard: 1 }]);
    expect(test.harness.daemon.inbox.deliveries.counts()).toMatchObject({ waiting: 0, quarantined: 0 });
    expect(test.product(id)).toMatchObject({ sellable: 0 });
  });
});

describe('a follower', () => {
  /** A daemon whose rows are followed without a network between. */
  const sourceOf = (path: string, made = (_copy: string) => {}): RowSource => {
    const rows = fileRows(path, () => 1);
    return {
      ...rows,
      copy: async (to, signal) => {
        const published_at = await rows.copy(to, signal);
        made(to);
        return published_at;
      },
    };
  };
  const followed = async (source: RowSource, path: string) => {
    const stop = new AbortController();
    const log = testLog('info');
    const options = { source, path, every: 10, clock: systemClock, log: log.log, own: process.pid };
    await follow({ ...options, caughtUp: () => stop.abort() }, stop.signal);
    return log.lines().map(({ msg }) => msg);
  };

  it('puts a new copy in the place of one of a development version, and refuses what a development daemon sends', async () => {
    await using harness = await filledHarness({ products: 2 }, { rows: { publish: true } });
    using directory = temporaryDirectory();
    const [path, mirror] = [join(directory.path, 'copy.db'), join(directory.path, 'own.db')];
    const source = sourceOf(harness.daemon.config.mirror.path);
    await followed(source, path);
    ofDevelopment(path, 'mirror');
    expect(() => new FollowedFile(path)).toThrow(expect.objectContaining(refused));
    const messages = await followed(source, path);
    expect(messages[0]).toBe('the copy is of a development version: a new one takes its place, and nothing is lost');
    new FollowedFile(path)[Symbol.dispose]();
    using reader = openReader(path);
    expect(reader.products()).toHaveLength(2);
    // Its own mirror is no copy, and is left alone.
    publishCopy(harness.daemon.config.mirror.path, mirror, `${mirror}.made`, { mode: 0o600 });
    ofDevelopment(mirror, 'mirror');
    const before = digest(mirror);
    await expect(followed(source, mirror)).rejects.toMatchObject({ code: 'no-followed-copy', exitCode: 78 });
    expect(digest(mirror)).toBe(before);
    const older = sourceOf(harness.daemon.config.mirror.path, (copy) => ofDevelopment(copy, 'mirror'));
    await expect(followed(older, join(directory.path, 'other.db'))).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('the daemon sent a mirror'),
    });
  });
});

it('a mirror and an inbox whose first bytes were overwritten are still taken for ours, and another file is not', () => {
  using directory = temporaryDirectory();
  const files = [join(directory.path, 'mirror.db'), join(directory.path, 'inbox.db'), join(directory.path, 'other.db')];
  const [mirror = '', inbox = '', other = ''] = files;
  emptyMirror.write(mirror);
  openInbox(inbox, { master: null, now: instant(0) })[Symbol.dispose]();
  const db = new Database(other);
  db.exec('CREATE TABLE t (a)');
  db.close();
  for (const file of files) {
    const bytes = readFileSync(file);
    bytes.fill(0x2a, 0, 16);
    writeFileSync(file, bytes);
  }
  expect(files.map(wasOurs)).toEqual([true, true, false]);
});
