import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canary } from '../fakes/canary.ts';
import { needs } from '../fakes/needs.ts';
import { readFeed } from './feed-reader.ts';
import {
  appliedIn,
  ceiling,
  differing,
  type Instance,
  missingInDatabase,
  posting,
  type Stage,
  stage,
} from './stage.ts';

/** As often as the long form asks for (`npm run test:faults -- --long --only S2`), or as CATALOGUED_TAKEOVERS says. */
const roundsOf = (many: number) => Number(process.env.CATALOGUED_TAKEOVERS ?? (long ? many : 1));
const long = process.env.CATALOGUED_LONG === '1';
const rounds = { kills: roundsOf(100), stops: roundsOf(30), restarts: roundsOf(20) };
const longest = 60_000 + Math.max(...Object.values(rounds)) * 60_000;

/** The figures of a long run. */
function print(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

describe('two instances', needs('postgres', 'time'), () => {
  let at: Stage;
  let leader: Instance;
  let other: Instance;
  beforeEach(async () => {
    at = await stage();
    for (const instance of at.instances) instance.start();
    leader = await at.leading();
    other = at.other(leader);
    await other.ready();
    await at.addressed();
  }, 60_000);
  afterEach(() => at[Symbol.asyncDispose]());

  /** All that was acknowledged is in the database and applied to the leader's mirror, by whoever led then, and the ceiling was kept by both together. */
  async function nothingIsLost(posts: ReturnType<typeof posting>) {
    await posts.stop();
    expect(posts.acknowledged.length).toBeGreaterThan(20);
    expect(await missingInDatabase(at.database, posts.acknowledged)).toEqual([]);
    const last = await at.leading();
    const [stored] = await at.database.query<{ last: number }>('SELECT last FROM _numbering');
    await expect.poll(() => appliedIn(last), { timeout: 20_000 }).toEqual({ last: stored?.last, waiting: 0 });
    expect(at.mostInASecond()).toBeLessThanOrEqual(ceiling);
  }

  it('lose nothing when the leader is killed: the other calls within ten seconds', { timeout: longest }, async () => {
    const posts = posting(at.instances);
    const feed = readFeed(at.instances);
    await expect.poll(() => feed.seen.length, { timeout: 50_000 }).toBeGreaterThan(20);
    const took: number[] = [];
    for (let round = 0; round < rounds.kills; round += 1) {
      const killed_at = performance.now();
      await leader.kill();
      took.push(Math.round((await at.firstCall(other, killed_at)).at - killed_at));
      leader.start();
      [leader, other] = [other, leader];
      await other.ready();
    }
    await feed.stop();
    print({ took, acknowledged: posts.acknowledged.length, most: at.mostInASecond(), changes: feed.seen.length });
    expect(Math.max(...took)).toBeLessThan(10_000);
    await nothingIsLost(posts);
    // One feed, whoever led: no gap, no number twice, and nothing that was taken back.
    expect(feed.begun).toBe(1);
    expect(feed.seen).toEqual(changesIn(leader).slice(0, feed.seen.length));
  });

  it('let a leader that was stopped call no more when it goes on, and have it follow', {
    timeout: longest,
  }, async () => {
    const posts = posting([other]);
    const took: number[] = [];
    const afterwards: number[] = [];
    for (let round = 0; round < rounds.stops; round += 1) {
      const stopped_at = performance.now();
      leader.running?.child.kill('SIGSTOP');
      took.push(Math.round((await at.firstCall(other, stopped_at)).at - stopped_at));
      const woken_at = performance.now();
      leader.running?.child.kill('SIGCONT');
      await setTimeout(1500);
      await leader.ready();
      afterwards.push(at.calls.filter((call) => call.by === leader.name && call.at > woken_at).length);
      [leader, other] = [other, leader];
    }
    print({ took, afterwards, most: at.mostInASecond() });
    expect(Math.max(...took)).toBeLessThan(10_000);
    expect(afterwards).toEqual(afterwards.map(() => 0));
    await nothingIsLost(posts);
    // What the old leader did last has given way: with nothing more to read both mirrors are the same, in every table.
    await at.sandbox.setReachable('no');
    const same = () => differing(leader.mirror, other.mirror);
    await expect.poll(same, { timeout: 20_000, interval: 500 }).toEqual([]);
  });

  it('answer 503 while the database is away, and 200 again afterwards', { timeout: longest }, async () => {
    const posts = posting(at.instances);
    for (let round = 0; round < rounds.restarts; round += 1) {
      await setTimeout(1000);
      at.server.stop('immediate');
      const stopped_at = performance.now();
      await setTimeout(4500);
      // Trusted for lease less margin since its last renewal, and one call under way.
      expect(at.calls.filter((call) => call.at > stopped_at + 3500)).toEqual([]);
      at.server.start();
      const before = posts.acknowledged.length;
      await expect.poll(() => posts.acknowledged.length, { timeout: 10_000 }).toBeGreaterThan(before);
    }
    print({ answers: [...posts.answers], most: at.mostInASecond() });
    expect(posts.answers.get(503)).toBeGreaterThan(0);
    await nothingIsLost(posts);
  });

  it('pass on to the leader what one that stands by is asked', { timeout: longest }, async () => {
    const ask = (instance: Instance, path: string, headers = { authorization: `Bearer ${canary.admin}` }) =>
      fetch(`${instance.admin}${path}`, { headers });
    const [own, passed] = await Promise.all([leader, other].map((each) => ask(each, '/v1/removals')));
    expect(passed?.status).toBe(200);
    expect(await passed?.json()).toEqual(await own?.json());
    expect((await ask(other, '/v1/removals', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect(await (await ask(other, '/metrics')).text()).toContain('\ncatalogued_standby_ready 1\n');
    const job = await fetch(`${other.admin}/v1/resync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${canary.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ dry_run: true, resources: ['products'] }),
    });
    expect(await job.json()).toMatchObject({ job_id: null });
    await leader.kill();
    const check = await fetch(`${other.admin}/v1/check`, {
      method: 'POST',
      headers: { authorization: `Bearer ${canary.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ product_id: 1, date: '2026-11-23', deadline_ms: 300 }),
    });
    expect(check.status).toBe(503);
    expect(await check.json()).toMatchObject({ error: 'no-leader' });
  });
});

/** All changes that a mirror tells, as the admin interface writes them. */
function changesIn({ mirror }: Instance): string[] {
  const db = new Database(mirror, { readonly: true });
  try {
    const rows = db.prepare<[], { detail: string }>('SELECT * FROM changes ORDER BY seq').all();
    return rows.map((row) => JSON.stringify({ ...row, detail: JSON.parse(row.detail) }));
  } finally {
    db.close();
  }
}
