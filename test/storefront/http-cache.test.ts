import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReadOperation } from '../../src/admin/api/reads.ts';
import { operations } from '../../src/admin/api.ts';
import { routeOf } from '../../src/admin/api-routes.ts';
import { type Listening, listenAt } from '../../src/admin/listening.ts';
import { readRoute, UnsentAnswers } from '../../src/admin/read-route.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { represent } from '../../src/daemon/reading/representation.ts';
import { ViewsClock } from '../../src/daemon/reading/views-clock.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { sqliteLibrary } from '../../src/kernel/sqlite/read-only.ts';
import { type HttpRead, httpReads } from '../../src/storefront/http/reads.ts';
import type { Reader } from '../../src/storefront/reader.ts';
import { filledDaemon } from '../fakes/filled-daemon.ts';
import { openReader } from '../fakes/reader.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const stack = new AsyncDisposableStack();
let path = '';
/** Virtual epoch milliseconds. */
let now = systemClock.now() as number;
let reader: Reader;
let listening: Listening;
const clock = new ViewsClock(() => now);

afterAll(() => stack.disposeAsync());
beforeAll(async () => {
  path = join(stack.use(temporaryDirectory()).path, 'mirror.db');
  await using filling = new AsyncDisposableStack();
  const { daemon } = await filledDaemon(filling);
  const open = new Database(daemon.config.mirror.path, { readonly: true });
  open.prepare('VACUUM INTO ?').run(path);
  open.close();
  now = systemClock.now();
  reader = stack.use(openReader(path, { engine: clock.engine(sqliteLibrary), now: () => now }));
  const reads = {
    represent: async (call: Parameters<typeof represent>[1]) => represent(reader, call, clock),
  };
  const unsent = new UnsentAnswers();
  listening = stack.use(
    await listenAt(
      { name: 'storefront', listen: '127.0.0.1:0', mode: 0o660 },
      { clock: systemClock, room: roomFor(null) },
      (app) => {
        for (const name of Object.keys(httpReads) as HttpRead[]) {
          const operation = `GET ${httpReads[name].path}` as ReadOperation;
          readRoute(app, { name, path: routeOf(operation).url, operation: operations[operation] }, { reads, unsent });
        }
      },
    ),
  );
});

interface Kept {
  readonly body: string;
  readonly etag: string;
  readonly stored_at: number;
  readonly max_age_ms: number;
}

/** A caching proxy with a virtual clock. */
class CachingProxy {
  readonly #kept = new Map<string, Kept>();
  readonly #ageOf: (declared_ms: number) => number;
  readonly counts = { kept: 0, confirmed: 0, fetched: 0 };

  /** `ageOf` returns for how long it keeps an answer that declares an age. */
  constructor(ageOf: (declared_ms: number) => number) {
    this.#ageOf = ageOf;
  }

  async get(asked: string): Promise<string> {
    const known = this.#kept.get(asked);
    if (known !== undefined && now - known.stored_at < known.max_age_ms) {
      this.counts.kept += 1;
      return known.body;
    }
    const headers = known === undefined ? {} : { 'if-none-match': known.etag };
    const answer = await fetch(`${listening.address}${asked}`, { headers });
    const body = answer.status === 304 ? (known?.body ?? '') : await answer.text();
    this.counts[answer.status === 304 ? 'confirmed' : 'fetched'] += 1;
    const [expires = 0, sent = 0] = ['expires', 'date'].map((name) => Date.parse(answer.headers.get(name) ?? ''));
    const etag = answer.headers.get('etag') ?? '';
    this.#kept.set(asked, { body, etag, stored_at: now, max_age_ms: this.#ageOf(expires - sent) });
    return body;
  }
}

interface Shown {
  expired: number;
  passed: number;
  /** Answers that differ from what the file says now. */
  different: number;
}

/** Shows pages through a proxy over 15 days, and counts what the clock had made wrong. */
async function showing(proxy: CachingProxy): Promise<Shown> {
  const begun = systemClock.now();
  now = begun;
  const sold = reader
    .products()
    .map(({ product_id, timezone }) => ({ product_id, timezone: timezone ?? 'UTC', days: reader.calendar(product_id) }))
    .map((product) => ({
      ...product,
      days: product.days.filter(
        ({ date, state }) =>
          state === 'available' && reader.slots(product.product_id, date).some(({ time }) => time.includes(':')),
      ),
    }))
    .find(({ days }) => days.length > 10);
  if (sold === undefined) throw new Error('no product with times');
  const { product_id } = sold;
  const pictured = reader.products().find((product) => reader.images(product.product_id).length > 0)?.product_id ?? 0;
  const expires_at = reader.images(pictured)[0]?.expires_at ?? 0;
  const days = sold.days.filter(({ date }) => Date.parse(date) < begun + 15 * 86_400_000);
  // One of each date, each day another one.
  const starts = days.map(({ date }, index) => {
    const times = [...new Set(reader.slots(product_id, date).map(({ time }) => time))];
    return { date, at: startOf(date, times[index % times.length] ?? '', sold.timezone) };
  });
  const instants = starts
    .flatMap(({ date, at }) => [-70_300, -41_700, -9_100, -100, 0, 700, 31_000].map((ms) => ({ date, at: at + ms })))
    .concat(
      [-70_000, -30_500, -1100, -900, 0, 40_000].map((ms) => ({ date: days[0]?.date ?? '', at: expires_at + ms })),
    )
    .filter(({ at }) => at > begun)
    .sort((a, b) => a.at - b.at);
  const shown: Shown = { expired: 0, passed: 0, different: 0 };
  for (const { date, at } of instants) {
    now = at;
    const images = `/v1/products/${pictured}/images`;
    const slots = `/v1/products/${product_id}/slots?date=${date}`;
    const calendar = `/v1/products/${product_id}/calendar?from=${date}&to=${date}`;
    const [seen, times, day] = [await proxy.get(images), await proxy.get(slots), await proxy.get(calendar)];
    shown.expired += (JSON.parse(seen) as { expires_at: number }[]).filter((image) => image.expires_at <= now).length;
    shown.passed += (JSON.parse(times) as { time: string }[]).filter(
      ({ time }) => startOf(date, time, sold.timezone) <= now,
    ).length;
    const here = [
      represent(reader, { name: 'images', asked: [pictured] }, clock),
      represent(reader, { name: 'slots', asked: [product_id, date] }, clock),
      represent(reader, { name: 'calendar', asked: [product_id, { from: date, to: date }] }, clock),
    ];
    shown.different += [seen, times, day].filter((body, index) => body !== here[index]?.body).length;
  }
  expect(instants.length).toBeGreaterThan(50);
  return shown;
}

/** Returns when a time of a date begins at a venue; a whole day ends with it. */
function startOf(date: string, time: string, zone: string): number {
  const utc = Date.parse(time.includes(':') ? `${date}T${time}:00Z` : `${date}T23:59:59Z`);
  const there = new Date(new Date(utc).toLocaleString('sv-SE', { timeZone: zone }).replace(' ', 'T').concat('Z'));
  return utc - (there.getTime() - utc);
}

describe('a caching proxy between the daemon and a shop, over 15 days without any new read', () => {
  it('shows no expired image, no passed time and nothing else that the clock has changed', async () => {
    const proxy = new CachingProxy((declared) => declared);
    expect(await showing(proxy)).toEqual({ expired: 0, passed: 0, different: 0 });
    expect(proxy.counts.kept).toBeGreaterThan(50);
    expect(proxy.counts.confirmed).toBeGreaterThan(50);
  });

  it('shows all of these when it keeps answers for ten minutes instead (control)', async () => {
    const shown = await showing(new CachingProxy(() => 600_000));
    for (const count of Object.values(shown)) expect(count).toBeGreaterThan(0);
  });
});

it('an answer of a mirror that was restored is another one, although it says the same', () => {
  now = systemClock.now();
  const before = represent(reader, { name: 'cities', asked: [] }, clock);
  now += 2000;
  // Control: the same file.
  expect(represent(reader, { name: 'cities', asked: [] }, clock).etag).toBe(before.etag);
  copyFileSync(path, `${path}.restored`);
  const restored = new Database(`${path}.restored`);
  restored.prepare("UPDATE _mirror SET feed_id = 'another-feed'").run();
  restored.close();
  renameSync(`${path}.restored`, path);
  now += 2000;
  const after = represent(reader, { name: 'cities', asked: [] }, clock);
  expect(after.body).toBe(before.body);
  expect(after.etag).not.toBe(before.etag);
});
