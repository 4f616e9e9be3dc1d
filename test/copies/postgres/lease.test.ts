import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { joinInstances } from '../../../src/copies/postgres/instances.ts';
import { type Leadership, Lease, refuseOldTerm, TermOver } from '../../../src/copies/postgres/lease.ts';
import { systemClock, systemEntropy } from '../../../src/kernel/clock.ts';
import { needs } from '../../fakes/needs.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { testLog } from '../../fakes/test-log.ts';

const times = { lease: 500, renew: 100, margin: 200 };
/** Where a holder must keep its lease: a machine that is busy elsewhere may stand still for longer than a short one lasts. */
const longTimes = { ...times, lease: 2500 };
const never = new AbortController().signal;

describe('the lease in PostgreSQL', needs('postgres', 'time'), () => {
  let server: StartedPostgres;
  let database: Postgres;
  beforeAll(async () => {
    server = startPostgres();
    database = await connectPostgres({ url: server.url, schema: 'shop' });
    await joinInstances(database, 'shop', { pair_id: 'p', key_fingerprint: 'k' });
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    server[Symbol.dispose]();
  });

  /** An instance, with a clock that can be stopped as its process would be: it shows the passed time afterwards. */
  async function instance(name: string, shifted = 0, leaseTimes = times) {
    const own = await connectPostgres({ url: server.url, schema: 'shop', connections: 1, patience_ms: 300 });
    const stopped = { until: Promise.resolve() };
    const clock = {
      ...systemClock,
      boot: () => systemClock.boot() + shifted,
      sleep: async (ms: number, signal?: AbortSignal) => {
        await systemClock.sleep(ms, signal);
        await stopped.until;
      },
    };
    const lease = new Lease({
      database: own,
      times: leaseTimes,
      instance: { name, advertise: null },
      clock,
      entropy: systemEntropy,
      log: testLog('silent').log,
    });
    return { lease, stopped, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
  }
  const fence = ({ term }: Leadership) => database.transaction((statements) => refuseOldTerm(statements, term));

  it('has one holder: another one waits for as long as it is renewed, and has it at once when it is resigned', async () => {
    await using a = await instance('a', 0, longTimes);
    await using b = await instance('b', 1e9, longTimes);
    const held = await a.lease.win(never);
    const other = b.lease.win(never);
    const first = await Promise.race([other, systemClock.sleep(longTimes.lease * 1.2).then(() => 'still waiting')]);
    expect(first).toBe('still waiting');
    expect(held.trusted()).toBe(true);
    await fence(held);
    await held[Symbol.asyncDispose]();
    await using next = await other;
    expect(held.trusted()).toBe(false);
    expect(next.term.number).toBe(held.term.number + 1);
    await expect(fence(held)).rejects.toThrow(TermOver);
    await fence(next);
  });

  it('passes to another when its holder stands still, which trusts itself no more before that and is refused afterwards', async () => {
    await using a = await instance('a');
    await using b = await instance('b');
    await using held = await a.lease.win(never);
    const going = Promise.withResolvers<void>();
    a.stopped.until = going.promise;
    let trusted_last = 0;
    const watch = setInterval(() => {
      if (held.trusted()) trusted_last = systemClock.boot();
    }, 1);
    await using next = await b.lease.win(never);
    const won = systemClock.boot();
    clearInterval(watch);
    expect(won - trusted_last).toBeGreaterThanOrEqual(times.margin * 0.9);
    expect(held.trusted()).toBe(false);
    await expect(fence(held)).rejects.toThrow(TermOver);
    expect(held.lost.aborted).toBe(false);
    going.resolve();
    await expect.poll(() => held.lost.aborted).toBe(true);
    await fence(next);
  });

  it('is lost to a restored database that knows a lower number, and a number given out twice lets nobody in', async () => {
    await using a = await instance('a');
    const held = await a.lease.win(never);
    await database.query("UPDATE _leader SET term = 1, holder = 'somebody before', beat = 3");
    await expect.poll(() => held.lost.aborted).toBe(true);
    expect(held.trusted()).toBe(false);
    await using again = await a.lease.win(never);
    expect(again.term.number).toBe(held.term.number + 1);
    await database.query('UPDATE _leader SET term = $1, holder = $2', [held.term.number, 'another']);
    await expect(fence(held)).rejects.toThrow(TermOver);
  });

  it('is trusted no more while the database is away, and again when it is back and nobody else leads', async () => {
    await using a = await instance('a');
    await using held = await a.lease.win(never);
    server.stop('immediate');
    await expect.poll(() => held.trusted(), { timeout: 5000 }).toBe(false);
    server.start();
    await expect.poll(() => held.trusted(), { timeout: 10_000 }).toBe(true);
    expect(held.lost.aborted).toBe(false);
    await fence(held);
  });

  it('is renewed while its holder publishes; another has it only once that has ended', async () => {
    await using a = await instance('a');
    await using b = await instance('b');
    await using held = await a.lease.win(never);
    let claimed = false;
    const won = b.lease.win(never).then((next) => {
      claimed = true;
      return next;
    });
    const publishing = (ms: number) =>
      database.transaction(async (statements) => {
        await refuseOldTerm(statements, held.term);
        const until = systemClock.boot() + ms;
        while (systemClock.boot() < until) {
          await systemClock.sleep(50);
          await statements.query('SELECT 1');
        }
      });
    await publishing(times.lease * 2);
    expect(held.trusted()).toBe(true);
    const going = Promise.withResolvers<void>();
    a.stopped.until = going.promise;
    await publishing(times.lease * 3);
    expect(claimed).toBe(false);
    await using _ = await won;
    going.resolve();
  });

  it('goes to another although its holder stands still in the middle of publishing', async () => {
    await using a = await instance('a');
    await using b = await instance('b');
    await using held = await a.lease.win(never);
    const standing = database.transaction(async (statements) => {
      await refuseOldTerm(statements, held.term);
      await systemClock.sleep(4000);
      await statements.query('SELECT 1');
    });
    standing.catch(() => undefined);
    const going = Promise.withResolvers<void>();
    a.stopped.until = going.promise;
    await using _ = await b.lease.win(never);
    await expect(standing).rejects.toThrow();
    going.resolve();
  });

  it('goes to one of many that claim it at once', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, (_, index) => instance(`i${index}`)));
    const ending = new AbortController();
    const won: Leadership[] = [];
    const waiting = all.map(({ lease }) => lease.win(ending.signal).then((each) => won.push(each)));
    await systemClock.sleep(times.lease * 3);
    ending.abort();
    await Promise.allSettled(waiting);
    expect(won.length).toBe(1);
    for (const each of won) await each[Symbol.asyncDispose]();
    for (const each of all) await each[Symbol.asyncDispose]();
  });

  it('control: an advisory lock stays with a holder that stands still, and fences nothing', async () => {
    await using a = await connectPostgres({ url: server.url, schema: 'shop', connections: 1 });
    await a.query('SELECT pg_advisory_lock(1)');
    await systemClock.sleep(times.lease * 2);
    expect(await database.query('SELECT pg_try_advisory_lock(1) AS taken')).toEqual([{ taken: false }]);
  });
});
