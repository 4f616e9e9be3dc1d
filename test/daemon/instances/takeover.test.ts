import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canary } from '../../fakes/canary.ts';
import { needs } from '../../fakes/needs.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { readFeed } from './feed-reader.ts';
import { following } from './following.ts';
import { appliedIn, changesIn, differing, missingInDatabase, showingOtherwise } from './found.ts';
import { posting } from './posting.ts';
import { ceiling, type Instance, patient, type Stage, sharedNow, stage } from './stage.ts';

/** As often as the long form asks for (`npm run faults -- --long --only S2`), or as CATALOGUED_TAKEOVERS says. */
const roundsOf = (many: number) => Number(process.env.CATALOGUED_TAKEOVERS ?? (long ? many : 1));
const long = process.env.CATALOGUED_LONG === '1';
const rounds = { kills: roundsOf(100), stops: roundsOf(30), restarts: roundsOf(20) };
const longest = 180_000 + Math.max(...Object.values(rounds)) * 60_000;
/** Between two deliveries of each of four senders: over many rounds it is their number that costs. */
const apart = Math.max(...Object.values(rounds)) > 1 ? 100 : 5;

/** Takeovers, the shortest first, and the one in the middle. */
function inOrder(taken: readonly { took: number; own: number }[]) {
  const took = taken.map((each) => each.took).toSorted((a, b) => a - b);
  const own = taken.map((each) => each.own).toSorted((a, b) => a - b);
  const middle = Math.floor(took.length / 2);
  return {
    took,
    middle: took[middle],
    longest: took.at(-1),
    without_queueing: { middle: own[middle], longest: own.at(-1) },
  };
}

/** The figures of a long run. */
function print(figures: object): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

describe('two instances', needs('postgres', 'time'), () => {
  let at: Stage;
  let leader: Instance;
  let other: Instance;
  beforeEach(async () => {
    at = await stage({ products: 1000 });
    for (const instance of at.instances) instance.start();
    [leader, other] = await at.roles();
    await at.addressed();
  });
  afterEach(() => at[Symbol.asyncDispose]());

  /** All that was acknowledged is in the database and applied to the leader's mirror, by whoever led then, and the ceiling was kept by both together. */
  async function nothingIsLost(posts: ReturnType<typeof posting>) {
    await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(20);
    await posts.stop();
    expect(await missingInDatabase(at.database, posts.acknowledged)).toEqual([]);
    const last = await at.leading();
    const [stored] = await at.database.query<{ last: number }>('SELECT last FROM _numbering');
    await expect.poll(() => appliedIn(last), patient).toEqual({ last: stored?.last, waiting: 0 });
    expect(at.mostInASecond()).toBeLessThanOrEqual(ceiling);
  }

  /** How long until the other one calls, as was measured, and less what its main thread stood in the queue for a processor. */
  async function takenOver(since: number, starved: number): Promise<{ took: number; own: number }> {
    const took = (await at.firstCall(other, since)).at - since;
    return { took: Math.round(took), own: Math.round(took - (other.starved() - starved)) };
  }
  const longestOf = (taken: readonly { own: number }[]) => Math.max(...taken.map(({ own }) => own));
  const most = () => ({ sent: at.mostInASecond(), arrived: at.mostArrivedInASecond() });

  it('lose nothing when the leader is killed: the other calls within ten seconds', { timeout: longest }, async () => {
    const posts = posting(at.instances, apart);
    const feed = readFeed(at.instances);
    await expect.poll(() => feed.seen.length, patient).toBeGreaterThan(20);
    const taken: { took: number; own: number }[] = [];
    for (let round = 0; round < rounds.kills; round += 1) {
      const [killed_at, starved] = [sharedNow(), other.starved()];
      await leader.kill();
      taken.push(await takenOver(killed_at, starved));
      leader.start();
      [leader, other] = [other, leader];
      await other.standsBy();
    }
    await feed.stop();
    print({ ...inOrder(taken), acknowledged: posts.acknowledged.length, most: most(), changes: feed.seen.length });
    expect(longestOf(taken)).toBeLessThan(10_000);
    await nothingIsLost(posts);
    // One feed, whoever led: no gap, no number twice, and nothing that was taken back.
    expect(feed.begun).toBe(1);
    expect(feed.seen).toEqual(changesIn(leader).slice(0, feed.seen.length));
  });

  it('have a follower over HTTP go on without a whole copy, whoever is killed', { timeout: longest }, async () => {
    using directory = temporaryDirectory();
    const copy = join(directory.path, 'copy.db');
    const file = following(at.instances, copy);
    const caughtUp = async () => {
      const before = file.caught_up;
      await expect.poll(() => file.caught_up, patient).toBeGreaterThan(before + 1);
    };
    const copies: number[] = [];
    for (let round = 0; round < rounds.kills; round += 1) {
      await caughtUp();
      await leader.kill();
      await caughtUp();
      copies.push(file.copies);
      leader.start();
      [leader, other] = [other, leader];
      await other.standsBy();
    }
    await at.sandbox.setReachable('no');
    await expect.poll(() => showingOtherwise(leader.mirror, copy), { ...patient, interval: 500 }).toEqual([]);
    await file.stop();
    print({ kills: rounds.kills, whole_copies: file.copies - 1, copies });
    expect(file.copies).toBe(1);
  });

  it('let a leader that was stopped call no more when it goes on, and have it follow', {
    timeout: longest,
  }, async () => {
    const posts = posting(rounds.stops > 1 ? at.instances : [other], apart);
    const taken: { took: number; own: number }[] = [];
    const afterwards: number[] = [];
    for (let round = 0; round < rounds.stops; round += 1) {
      const [stopped_at, starved] = [sharedNow(), other.starved()];
      leader.running?.child.kill('SIGSTOP');
      taken.push(await takenOver(stopped_at, starved));
      const woken_at = sharedNow();
      leader.running?.child.kill('SIGCONT');
      await leader.standsBy();
      afterwards.push(leader.sent().filter((call) => call.at > woken_at).length);
      [leader, other] = [other, leader];
    }
    print({ ...inOrder(taken), afterwards, most: most() });
    expect(longestOf(taken)).toBeLessThan(10_000);
    expect(afterwards).toEqual(afterwards.map(() => 0));
    await nothingIsLost(posts);
    // What the old leader did last has given way: with nothing more to read both mirrors are the same, in every table.
    await at.sandbox.setReachable('no');
    const same = () => differing(leader.mirror, other.mirror);
    await expect.poll(same, { ...patient, interval: 500 }).toEqual([]);
  });

  it('answer 503 while the database is away, and 200 again afterwards', { timeout: longest }, async () => {
    const posts = posting(at.instances, apart);
    for (let round = 0; round < rounds.restarts; round += 1) {
      await at.leading();
      const before = posts.acknowledged.length;
      await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(before);
      at.server.stop('immediate');
      const stopped_at = sharedNow();
      await setTimeout(4500);
      const [refused, taken] = [posts.answers.get(503) ?? 0, posts.acknowledged.length];
      // Trusted for lease less margin since its last renewal, and one call under way.
      const late = at.instances.flatMap((each) => each.sent()).filter((call) => call.at > stopped_at + 3500);
      expect(late).toEqual([]);
      at.server.start();
      expect(refused).toBeGreaterThan(0);
      await expect.poll(() => posts.acknowledged.length, patient).toBeGreaterThan(taken);
    }
    print({ restarts: rounds.restarts, answers: [...posts.answers], most: most() });
    expect(posts.answers.get(503)).toBeGreaterThan(0);
    await nothingIsLost(posts);
  });

  it('pass on to the leader what one that stands by is asked', { timeout: longest }, async () => {
    const ask = (instance: Instance, path: string, headers = { authorization: `Bearer ${canary.admin}` }) =>
      fetch(`${instance.admin}${path}`, { headers });
    const [own, passed] = await Promise.all([leader, other].map((each) => ask(each, '/v1/held')));
    expect(passed?.status).toBe(200);
    expect(await passed?.json()).toEqual(await own?.json());
    expect((await ask(other, '/v1/held', { authorization: 'Bearer wrong' })).status).toBe(401);
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
