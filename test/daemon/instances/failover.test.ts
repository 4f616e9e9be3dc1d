import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { verifyPublished } from '../../../src/copies/postgres/verify.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, type StartedStandby, startPostgres, startStandby } from '../../fakes/start-postgres.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { appliedIn, missingInDatabase, missingInInbox } from './found.ts';
import { posting } from './posting.ts';
import { ceiling, type Instance, patient, type Stage, sharedNow, stage } from './stage.ts';

/** Two clusters, and a name that leads to the one that is in use. */
interface Pair extends AsyncDisposable {
  readonly primary: StartedPostgres;
  readonly standby: StartedStandby;
  /** Of whichever is in use. */
  readonly url: string;
  /** Runs a statement on one of them. */
  on(server: StartedPostgres, sql: string): Promise<readonly Record<string, unknown>[]>;
  /** The primary is gone, and the other one takes its place. */
  failOver(): void;
}

async function clusters(): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const directory = join(stack.use(temporaryDirectory()).path, 'to');
  mkdirSync(directory);
  const primary = stack.use(startPostgres());
  const standby = stack.use(startStandby(primary, 'other'));
  const used = join(directory, 'database');
  const use = (server: StartedPostgres) => {
    symlinkSync(server.directory, `${used}.new`);
    renameSync(`${used}.new`, used);
  };
  use(primary);
  const closing = stack.move();
  return {
    primary,
    standby,
    url: `postgres://owner@/postgres?host=${encodeURIComponent(used)}`,
    on: async (server, sql) => {
      await using database = await connectPostgres({ url: server.url, schema: 'catalogued', connections: 1 });
      return await database.query(sql);
    },
    failOver: () => {
      primary.stop('immediate');
      standby.promote();
      use(standby);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe('a PostgreSQL that fails over', needs('postgres', 'time'), () => {
  let stack: AsyncDisposableStack;
  let pair: Pair;
  let at: Stage;
  let leader: Instance;
  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    pair = stack.use(await clusters());
    at = stack.use(await stage({ server: { ...pair.primary, url: pair.url } }));
    for (const instance of at.instances) instance.start();
    [leader] = await at.roles();
    await at.addressed();
  });
  afterEach(() => stack.disposeAsync());

  /** Waits for settings that a running server takes over, and for what then has to be so. */
  const set = async (server: StartedPostgres, setting: string, then: string) => {
    // No transaction may have it.
    server.sql(`ALTER SYSTEM SET ${setting}`);
    server.sql('SELECT pg_reload_conf()');
    await expect.poll(async () => Object.values((await pair.on(server, then))[0] ?? {})[0], patient).toBe(true);
  };
  const state = async (database: Postgres) => {
    const [found] = await database.query<{ origin: string; state: number }>('SELECT origin, state FROM _published');
    return found ?? { origin: '', state: 0 };
  };
  /** Whoever leads calls, has published all of its mirror, and has applied all that was received. */
  async function goesOn(): Promise<Instance> {
    const last = await at.leading();
    const [numbering] = await at.database.query<{ last: number }>('SELECT last FROM _numbering');
    await expect.poll(() => appliedIn(last), patient).toEqual({ last: numbering?.last, waiting: 0 });
    await at.sandbox.setReachable('no');
    const verified = () => verifyPublished(at.database, last.mirror);
    await expect.poll(verified, { ...patient, interval: 500 }).toMatchObject({ differ: {}, unpublished: 0 });
    expect(at.mostInASecond()).toBeLessThanOrEqual(ceiling);
    return last;
  }

  it('to a synchronous standby has all that was acknowledged, and goes on under the same numbers', async () => {
    await set(pair.primary, "synchronous_standby_names = 'other'", "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'"); // biome-ignore format: a setting and what shows it
    const posts = posting(at.instances);
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(50);
    const { origin } = await state(at.database);
    pair.failOver();
    const before = posts.acknowledged.length;
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(before + 20);
    await posts.stop();
    expect(await missingInDatabase(at.database, posts.acknowledged)).toEqual([]);
    await goesOn();
    expect((await state(at.database)).origin).toBe(origin);
    print({ failover: 'synchronous', acknowledged: posts.acknowledged.length, lost: 0, most: at.mostInASecond() });
  });

  it('to a replica that lacks the last commits says so, applies all the same what comes next, and publishes anew', async () => {
    const posts = posting(at.instances);
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(50);
    await set(pair.standby, "primary_conninfo = ''", 'SELECT count(*) = 0 FROM pg_stat_wal_receiver');
    const cut_at = posts.acknowledged.length;
    const { origin, state: published } = await state(at.database);
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(cut_at + 50);
    await expect.poll(async () => (await state(at.database)).state, patient).toBeGreaterThan(published + 2);
    pair.failOver();
    const failed_at = sharedNow();
    const [kept, posted] = [posts.acknowledged.length, posts.posted()];
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(kept + 100);
    await posts.stop();
    const last = await goesOn();
    const lost = await missingInDatabase(at.database, posts.acknowledged);
    // The control: the last commits were lost indeed.
    expect(lost.length).toBeGreaterThan(0);
    // Nothing of what was posted afterwards is among them.
    expect(lost.filter((n) => n > posted)).toEqual([]);
    // The leader has them all, but for what it had not copied yet: two groups of what is posted at a time.
    if (last === leader)
      expect(missingInInbox(leader, posts.acknowledged).filter((n) => n <= posted - 8 || n > posted)).toEqual([]);
    expect((await state(at.database)).origin).not.toBe(origin);
    const output = await at
      .other(last)
      .kill()
      .then(() => leader.output());
    expect(output).toContain('the database has forgotten what it had confirmed');
    const seconds = Math.round((sharedNow() - failed_at) / 1000);
    print({ failover: 'asynchronous', acknowledged: posts.acknowledged.length, lost_by_it: lost.length, leads: last === leader ? 'the same' : 'the other', seconds }); // biome-ignore format: a line of figures
  });
});

function print(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
