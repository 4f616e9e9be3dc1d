import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecret } from '../../../src/config/secrets.ts';
import { follow } from '../../../src/copies/follow/follower.ts';
import { PublishedRows } from '../../../src/copies/follow/published-rows.ts';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import { Publication } from '../../../src/copies/postgres/publication.ts';
import { Publisher } from '../../../src/copies/postgres/publisher.ts';
import { startPublishing } from '../../../src/daemon/publishing.ts';
import { instant, systemClock } from '../../../src/kernel/clock.ts';
import { conditionsOf } from '../../../src/says/conditions/decide.rules.ts';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { needs } from '../../fakes/needs.ts';
import { otherWriter } from '../../fakes/other-writer.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { plantZones } from '../../fakes/zone-files.ts';
import { healthy } from '../../says/conditions/healthy-facts.ts';
import { type PublishedStage, publishedStage } from './stage.ts';

/** For how long states are written; `STATES_SECONDS=600` is the long form. */
const seconds = Number(process.env.STATES_SECONDS ?? 4);

describe('states that are published while others are written', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  let copy = '';
  beforeAll(async () => {
    at = stack.use(await publishedStage(4, { cadence: { availability: { horizon: 31 } } }));
    copy = join(stack.use(temporaryDirectory()).path, 'copy.db');
    await at.publication.publish();
  });
  afterAll(() => stack.disposeAsync());

  it(
    'are whole for readers of PostgreSQL and of a file that follows it, and soon there',
    async () => {
      const seen = await lookedAt(at, at.postgres, copy);
      expect(seen).toMatchObject({ halves: { database: 0, file: 0 } });
      expect(seen.looks.database).toBeGreaterThan(50);
      expect(seen.looks.file).toBeGreaterThan(50);
      expect(seen.states).toBeGreaterThan(3);
      process.stdout.write(
        `states ${seen.states}, looks ${seen.looks.database} and ${seen.looks.file}, half states 0; until a file had it: p50 ${percentile(seen.lags, 0.5)} ms, p99 ${percentile(seen.lags, 0.99)} ms\n`,
      );
    },
    (seconds + 60) * 1000,
  );

  it(
    'are seen by halves where each statement is committed by itself (control)',
    async () => {
      const { halves } = await lookedAt(at, committingEach(at.postgres), null);
      expect(halves.database).toBeGreaterThan(0);
    },
    (seconds + 60) * 1000,
  );

  it('are published by themselves after PostgreSQL was away, and status says so only where that lasts', async () => {
    let later = 0;
    const clock = { ...systemClock, now: () => instant(systemClock.now() + later) };
    const { log, lines } = testLog('info');
    const url = createSecret(at.server.url);
    const sync = { ...at.harness.daemon.sync, clock, log };
    await using publishing = await startPublishing({ ...at.harness.daemon, sync }, url);
    const kinds = () =>
      conditionsOf({ ...healthy, at: clock.now(), database: publishing?.status() ?? null }).map(({ code }) => code);
    at.server.stop('immediate');
    const writer = otherWriter(at.mirror);
    writer.prepare('UPDATE _product SET rating = 4.5').run();
    writer.close();
    await expect.poll(() => lines().some(({ msg }) => msg === 'the mirror is not published'), patient).toBe(true);
    expect(kinds()).toEqual([]);
    later = 11_000;
    expect(kinds()).toEqual(['database-behind']);
    at.server.start();
    await expect.poll(kinds, patient).toEqual([]);
    const shown = () => at.postgres.query('SELECT DISTINCT rating FROM products');
    expect(await shown()).toEqual([{ rating: 4.5 }]);
    expect(lines().filter(({ msg }) => msg === 'the mirror is not published').length).toBeLessThan(4);
  });
});

const patient = { timeout: 40_000, interval: 50 };
const halvesSql =
  'SELECT (SELECT count(DISTINCT rating) FROM products) + (SELECT count(DISTINCT rating) FROM experiences) AS ratings, (SELECT max(rating) FROM products) AS product, (SELECT max(rating) FROM experiences) AS experience';
type Look = { ratings: number; product: number; experience: number };
const isHalf = ({ ratings, product, experience }: Look) => ratings !== 2 || product !== experience;

/** Writes states in which all products and all experiences are rated alike, and looks all the while. */
async function lookedAt(at: PublishedStage, postgres: Postgres, copy: string | null) {
  const ending = new AbortController();
  const { signal } = ending;
  const log = testLog('silent').log;
  using publication = new Publication({ ...at.options, postgres });
  const publishing = new Publisher({ publication, clock: systemClock, log, every: 50 }).run(signal);
  const source = new PublishedRows(at.postgres, 'catalogued');
  const following =
    copy === null ? null : follow({ source, path: copy, every: 50, clock: systemClock, log, own: 1 }, signal);
  if (copy !== null) while (!(await standing(copy))) await delay(20);
  const writer = otherWriter(at.mirror);
  const file = copy === null ? null : new Database(copy, { readonly: true, timeout: 5000 });
  const write = writer.transaction((rating: number) => {
    writer.prepare('UPDATE _product SET rating = ?').run(rating);
    writer.prepare('UPDATE _experience SET rating = ?').run(rating);
  });
  const looks = { database: 0, file: 0 };
  const halves = { database: 0, file: 0 };
  const lags: number[] = [];
  const written = new Map<number, number>();
  let states = 0;
  let rating = 0;
  write.immediate(rating);
  await delay(500);
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    written.set(++rating, performance.now());
    write.immediate(rating);
    for (let look = 0; look < 10; look += 1) {
      const [found] = (await at.postgres.query(halvesSql)) as Look[];
      looks.database += 1;
      if (found !== undefined && isHalf(found)) halves.database += 1;
      const other = file?.prepare<[], Look>(halvesSql).get();
      if (other === undefined) continue;
      looks.file += 1;
      if (isHalf(other)) halves.file += 1;
      const began = written.get(other.product);
      if (began === undefined) continue;
      states += 1;
      lags.push(Math.round(performance.now() - began));
      for (const older of written.keys()) if (older <= other.product) written.delete(older);
    }
  }
  ending.abort();
  writer.close();
  file?.close();
  await Promise.all([publishing, following]);
  return { looks, halves, states, lags: lags.toSorted((a, b) => a - b) };
}

async function standing(path: string): Promise<boolean> {
  try {
    new Database(path, { readonly: true, fileMustExist: true }).close();
    return true;
  } catch {
    return false;
  }
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** What would be if a publication was not one transaction. */
function committingEach(postgres: Postgres): Postgres {
  return { ...postgres, transaction: (work) => work({ query: postgres.query }) };
}

/** A way to a PostgreSQL that can swallow everything: it accepts, and hands on nothing in either direction. */
interface Way extends AsyncDisposable {
  readonly url: string;
  swallow(): void;
  handOn(): void;
}

async function wayTo(directory: string): Promise<Way> {
  const sockets = new Set<Socket>();
  const held = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    return socket;
  };
  let swallows = false;
  const server: Server = createServer((incoming) => {
    const near = held(incoming);
    if (swallows) return void near.pause();
    const far = held(connect(`${directory}/.s.PGSQL.5432`));
    near.on('close', () => far.destroy()).pipe(far);
    far.on('close', () => near.destroy()).pipe(near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `postgres://owner@127.0.0.1:${port}/postgres`,
    swallow: () => {
      swallows = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    handOn: () => {
      swallows = false;
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a PostgreSQL that swallows packets', needs('postgres'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  beforeAll(async () => {
    at = stack.use(await publishedStage(2));
  });
  afterAll(() => stack.disposeAsync());

  it('is told of within ten seconds, and no more when it answers', { timeout: 60_000 }, async () => {
    await using way = await wayTo(at.server.directory);
    const sync = { ...at.harness.daemon.sync, clock: systemClock };
    await using publishing = await startPublishing({ ...at.harness.daemon, sync }, createSecret(way.url));
    const kinds = (now: number) =>
      conditionsOf({ ...healthy, at: now, database: publishing?.status() ?? null }).map(({ code }) => code);
    await expect.poll(() => publishing?.status().state, { timeout: 20_000 }).not.toBeNull();
    await expect.poll(() => publishing?.status().failing_since).toBeNull();
    way.swallow();
    const swallowed_at = systemClock.now();
    // Found in time to be a condition ten seconds after the last answer.
    await expect.poll(() => publishing?.status().failing_since, { timeout: 15_000 }).not.toBeNull();
    const found_after = systemClock.now() - swallowed_at;
    const { failing_since, failure } = publishing?.status() ?? {};
    expect(failing_since).toBeLessThanOrEqual(swallowed_at);
    expect(found_after).toBeLessThan(10_000);
    expect(failure).toContain('cannot be reached');
    expect(kinds(swallowed_at + 10_000)).toEqual(['database-behind']);
    way.handOn();
    await expect.poll(() => kinds(systemClock.now() + 60_000), { timeout: 30_000 }).toEqual([]);
  });

  it('is told of within ten seconds by a command, which it has answered nothing', { timeout: 30_000 }, async () => {
    await using way = await wayTo(at.server.directory);
    way.swallow();
    const began = performance.now();
    await using postgres = await connectPostgres({ url: way.url, schema: 'catalogued' });
    await expect(postgres.query('SELECT 1')).rejects.toMatchObject({ code: 'database-away' });
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

const hour = 3_600_000;

describe('rules of a zone that change, with a follower and in PostgreSQL', needs('postgres'), () => {
  it('let the same times pass everywhere', async () => {
    using place = temporaryDirectory();
    const [copy, zones] = [join(place.path, 'copy.db'), join(place.path, 'zones')];
    await using at = await publishedStage(
      20,
      { cadence: { availability: { horizon: 31 } } },
      { machine: (own) => ({ ...own, zones: { directory: zones, runtime: '2026c' } }) },
    );
    const { harness } = at;
    /** Publishes, follows once, and returns how many times of a zone's products are left today: the same at all three. */
    const timesLeft = async (timezone: string) => {
      await at.publication.publish();
      const source = new PublishedRows(at.postgres, 'catalogued');
      const ending = new AbortController();
      const once = { ...systemClock, sleep: async () => ending.abort() };
      await follow({ source, path: copy, every: 250, clock: once, log: testLog('silent').log, own: 1 }, ending.signal);
      expect(await at.differing()).toEqual({});
      expect(await at.differing(copy)).toEqual({});
      const reader = openMirrorAt(copy, harness.clock.now());
      const rows = reader
        .prepare<[string], { utc_offset: number; times: number }>(
          `SELECT p.utc_offset, (SELECT count(*) FROM availability_slots s WHERE s.product_id = p.product_id) AS times
           FROM product p WHERE timezone = ? AND sellable ORDER BY product_id`,
        )
        .all(timezone);
      reader.close();
      return {
        offsets: new Set(rows.map((row) => row.utc_offset)),
        times: rows.reduce((sum, row) => sum + row.times, 0),
      };
    };
    const timezone = mostTimedZone(harness.daemon.config.mirror.path, harness.clock.now());
    const before = await timesLeft(timezone);
    plantZones(zones, '2026f', { [timezone]: { first: 0, changes: [], footer: '<-1130>11:30' } });
    await harness.live(2 * hour);
    const after = await timesLeft(timezone);
    expect(after.offsets).toEqual(new Set([-690]));
    expect(before.offsets).not.toEqual(after.offsets);
    plantZones(zones, '2026f', { [timezone]: { first: 0, changes: [], footer: '<+1330>-13:30' } });
    await harness.live(2 * hour);
    const later = await timesLeft(timezone);
    expect(later.offsets).toEqual(new Set([810]));
    expect(later.times).toBeLessThan(after.times);
  }, 180_000);
});

/** The zone with the most hours of a clock that are sold: `whole_day` ends with its day, which may be a day later. */
function mostTimedZone(path: string, now: number): string {
  const reader = openMirrorAt(path, now);
  const zones = reader.prepare<[], string>(
    `SELECT timezone FROM product JOIN availability_slots USING (product_id)
     WHERE sellable AND time <> 'whole_day' GROUP BY timezone ORDER BY count(*) DESC`,
  );
  const zone = zones.pluck().get();
  reader.close();
  return zone ?? '';
}
