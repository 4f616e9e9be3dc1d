import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { RecordFacts } from '../../src/domain/schedule/record.ts';
import { checkBeforeOrder, checkPorts } from '../../src/sync/checks/check.ts';
import { sourceFiles } from '../architecture/import-graph.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const never = new AbortController().signal;
const refusal = '{"success":false,"error":"unauthorized","message":"Key not accepted"}';
const refusedAt = (path: string | undefined, status = 401) =>
  ({ kind: 'status', status, body: refusal, ...(path === undefined ? {} : { path }) }) as const;
const noProduct = { kind: 'status', status: 404, path: '^/v2/products/\\d+(\\?|$)' } as const;
const noExperiences = { kind: 'status', status: 405, path: '^/v2/experiences' } as const;

function idOf(harness: VirtualHarness, index = 0): number {
  return harness.sandbox.world.visible()[index]?.id ?? 0;
}

function records({ daemon }: VirtualHarness): RecordFacts[] {
  const { records } = daemon.mirror.schedule;
  const { products } = daemon.mirror.catalogue;
  return [0, ...products.ids()].flatMap((id) => records.ofProduct(id));
}

function failing(harness: VirtualHarness): string[] {
  return records(harness)
    .filter(({ failures }) => failures > 0)
    .map(({ resource, product_id }) => `${resource} ${product_id}`);
}

const calls = ({ sandbox }: VirtualHarness) => sandbox.calls.counts().calls;
const key = ({ daemon }: VirtualHarness) => daemon.ports.refusals.keyRefused();
const missing = ({ daemon }: VirtualHarness) => daemon.mirror.schedule.offers.missing().map(({ path }) => path);

async function conditions({ daemon }: VirtualHarness): Promise<Record<string, string>> {
  const shown = (await daemon.status.shown()).conditions;
  return Object.fromEntries(shown.map(({ code, says }) => [code, says]));
}

/** Lives on with a tick every five seconds: conditions are looked at every fifteen. */
async function liveFor(harness: VirtualHarness, ms: number, step = 5 * second): Promise<void> {
  await harness.liveUntil(harness.clock.now() + ms, step);
}

/** Makes every record due, as if each had waited for its cadence. */
function makeDue({ daemon, clock }: VirtualHarness): void {
  const { mirror } = daemon;
  mirror.transaction(() => {
    for (const { resource, edition, part, product_id } of [0, ...mirror.catalogue.products.ids()].flatMap((id) =>
      mirror.schedule.records.ofProduct(id),
    ))
      mirror.schedule.records.bringForward(
        { kinds: [{ resource, edition, part }], product_ids: [product_id] },
        clock.now(),
        'requested',
      );
  });
}

describe('a record that is refused', () => {
  it.each(
    someOf([
      [2, 401],
      [12, 401],
      [12, 403],
    ] as const),
  )(
    'of %i products fails alone (%i): the first fill does not wait for it, and everything else is read',
    async (products, status) => {
      await using harness = await virtualHarness({ products, lean: true });
      const id = idOf(harness);
      harness.sandbox.faults.add(refusedAt(`^/v2/products/${id}/checkout_information`, status));
      await harness.fill();
      expect(key(harness)).toBeNull();
      expect(failing(harness)).toEqual([`checkout_information ${id}`]);
      expect(records(harness).filter(({ fetched_at }) => fetched_at === null)).toMatchObject([
        { resource: 'checkout_information', product_id: id },
      ]);
      const [failed] = harness.daemon.mirror.schedule.records.ofProduct(id).filter(({ failure }) => failure !== null);
      expect(failed?.failure).toBe(`refused-${status}: Key not accepted`);
      await harness.liveUntil(harness.clock.now() + 2 * hour);
      const later = harness.daemon.mirror.schedule.records.ofProduct(id).find(({ failures }) => failures > 0);
      expect(later?.failures).toBeGreaterThanOrEqual(4);
      expect(later?.due_at).toBeGreaterThan(harness.clock.now());
      harness.sandbox.faults.clear();
      await harness.liveUntil(harness.clock.now() + 25 * hour);
      expect(failing(harness)).toEqual([]);
    },
  );

  it('is the list of experiences: it is not for this key, and every other record is read', async () => {
    await using harness = await virtualHarness({ products: 12, lean: true });
    harness.sandbox.faults.add(refusedAt('^/v2/experiences'));
    await harness.fill();
    expect([key(harness), failing(harness), missing(harness)]).toEqual([null, [], ['experiences']]);
    expect(records(harness).filter(({ fetched_at }) => fetched_at === null)).toEqual([]);
  });

  it('is the product list of a filled mirror, and everything else is read on', async () => {
    await using harness = await filledHarness({ products: 12, lean: true });
    harness.sandbox.faults.add(refusedAt('^/v2/products(\\?|$)'));
    makeDue(harness);
    await liveFor(harness, minute);
    expect([key(harness), failing(harness)]).toEqual([null, ['products 0']]);
  });

  it('costs one call more where others are accepted, and many that are refused at once share it', async () => {
    await using harness = await filledHarness({ products: 12, lean: true });
    const before = calls(harness);
    harness.sandbox.faults.add(refusedAt('/checkout_information'));
    const ids = harness.daemon.mirror.catalogue.products.ids();
    harness.daemon.mirror.transaction(() =>
      harness.daemon.mirror.schedule.records.bringForward(
        { kinds: [{ resource: 'checkout_information', edition: 'en', part: 0 }], product_ids: ids },
        harness.clock.now(),
        'requested',
      ),
    );
    await harness.drive(harness.daemon.schedule.run('pass'));
    expect(failing(harness)).toHaveLength(12);
    expect(key(harness)).toBeNull();
    expect(calls(harness) - before).toBeLessThanOrEqual(24);
  });

  it('is shown: in `explain` and `status` at once, and as a condition where it lasts', async () => {
    await using harness = await filledHarness({ products: 6, lean: true }, {}, { conditions: true });
    const id = idOf(harness);
    harness.sandbox.faults.add(refusedAt(`^/v2/products/${id}/product-variants`));
    // The record is tried once a day by now: nothing happens between two hours.
    await liveFor(harness, 10 * day, hour);
    await liveFor(harness, day, 10 * minute);
    expect((await harness.daemon.status.shown()).failures).toContainEqual({
      resource: 'variants',
      failure: 'refused-401: Key not accepted',
      records: 1,
    });
    expect(await conditions(harness)).toMatchObject({ 'records-failing': '1 record fails again and again' });
    expect(await conditions(harness)).not.toHaveProperty('key-refused');
  });
});

describe('a key that is refused', () => {
  it('at the first start: one call, then one a minute, one condition and one line in the log', async () => {
    await using harness = await virtualHarness({ products: 12, lean: true, key: 'right' }, {}, { conditions: true });
    await liveFor(harness, hour);
    expect(await conditions(harness)).toEqual({ 'key-refused': expect.stringContaining('Key not accepted') });
    expect(calls(harness)).toBeLessThanOrEqual(62);
    expect(calls(harness)).toBeGreaterThanOrEqual(58);
    expect(harness.daemon.mirror.catalogue.products.count()).toBe(0);
    expect(harness.log.lines().filter(({ msg }) => msg === 'the service refuses the key')).toHaveLength(1);
  });

  it.each(someOf([1, 2, 12]))(
    'of %i products later: three calls, then one a minute, and it ends with the first answer',
    async (products) => {
      await using harness = await filledHarness({ products, lean: true }, {}, { conditions: true });
      harness.sandbox.faults.add(refusedAt(undefined));
      const before = calls(harness);
      makeDue(harness);
      await liveFor(harness, hour);
      expect(await conditions(harness)).toMatchObject({ 'key-refused': expect.stringContaining('Key not accepted') });
      // Those that were under way when the first one was refused.
      expect(calls(harness) - before).toBeLessThanOrEqual(60 + 3 + harness.daemon.config.budget.concurrency * 3);
      expect(failing(harness)).toEqual([]);
      harness.sandbox.faults.clear();
      await liveFor(harness, 2 * minute);
      expect(key(harness)).toBeNull();
      expect(await conditions(harness)).not.toHaveProperty('key-refused');
      expect(records(harness).filter(({ due_at }) => due_at <= harness.clock.now())).toEqual([]);
    },
  );

  it('is found again after a restart in the middle, and so is that it is accepted', async () => {
    await using harness = await filledHarness({ products: 6, lean: true });
    harness.sandbox.faults.add(refusedAt(undefined));
    makeDue(harness);
    await liveFor(harness, 3 * minute);
    expect(key(harness)).not.toBeNull();
    await harness.restart();
    expect(key(harness)).toBeNull();
    const before = calls(harness);
    await liveFor(harness, 3 * minute);
    expect(key(harness)).not.toBeNull();
    expect(calls(harness) - before).toBeLessThanOrEqual(3 + 3 + harness.daemon.config.budget.concurrency * 3);
    harness.sandbox.faults.clear();
    await harness.restart();
    await liveFor(harness, minute);
    expect([key(harness), failing(harness)]).toEqual([null, []]);
  });

  it('with 403 is refused at the first start by a single call', async () => {
    await using harness = await virtualHarness({ products: 6, lean: true, faults: [refusedAt(undefined, 403)] });
    await liveFor(harness, 10 * minute);
    expect(key(harness)).toBe('Key not accepted');
    expect(calls(harness)).toBeLessThanOrEqual(12);
  });
});

describe('a live check that is refused', () => {
  it('is answered as it is, without waiting for the others that are asked, and counts for the key', async () => {
    await using harness = await filledHarness({ products: 6, lean: true });
    const checks = checkPorts(harness.daemon);
    const [id, date] = [idOf(harness), '2026-12-05'];
    harness.sandbox.faults.add(refusedAt('/availability'));
    harness.sandbox.faults.add({ kind: 'delay', ms: 20 * second, path: '^/v2/products\\?' });
    harness.sandbox.faults.add(refusedAt(undefined));
    const asked_at = harness.clock.now();
    const answer = await harness.drive(checkBeforeOrder(checks, { product_id: id, date }, never));
    expect(answer).toMatchObject({ verdict: 'unknown', reasons: ['key-refused'] });
    expect(harness.clock.now() - asked_at).toBeLessThan(second);
    expect(key(harness)).toBeNull();
    await harness.drive(harness.clock.sleep(minute));
    // The list has answered: only the dates are refused.
    expect(key(harness)).toBeNull();
    harness.sandbox.faults.clear();
    harness.sandbox.faults.add(refusedAt(undefined));
    await harness.drive(checkBeforeOrder(checks, { product_id: id, date }, never));
    await harness.drive(harness.clock.sleep(minute));
    expect(key(harness)).toBe('Key not accepted');
    expect(failing(harness)).toEqual([]);
    await checks[Symbol.asyncDispose]();
  });
});

describe('a path that is refused', () => {
  it.each(someOf([1, 2]))(
    'counts as missing with %i products only by a second refusal a minute later, also after a restart',
    async (products) => {
      await using harness = await virtualHarness({ products, lean: true, faults: [noProduct] });
      await harness.fill();
      expect(missing(harness)).toEqual([]);
      await harness.restart();
      await liveFor(harness, 40 * second);
      expect(missing(harness)).toEqual([]);
      await liveFor(harness, 2 * minute);
      expect([missing(harness), failing(harness)]).toEqual([['product'], []]);
    },
  );

  it.each(someOf([1, 2]))('stays where it has answered, though all of %i products are gone', async (products) => {
    await using harness = await filledHarness({ products, lean: true }, { cadence: { products: '1h' } });
    harness.sandbox.faults.add(noProduct);
    makeDue(harness);
    await liveFor(harness, 10 * minute);
    expect(missing(harness)).toEqual([]);
  });

  it('of a list that never answered counts as missing at once, and not if it answers a minute later (control)', async () => {
    for (const answers of [false, true]) {
      await using harness = await virtualHarness({
        products: 4,
        lean: true,
        faults: [{ ...noExperiences, ...(answers ? { times: 1 } : {}) }],
      });
      await harness.fill();
      expect(missing(harness)).toEqual(['experiences']);
      expect((await harness.daemon.status.shown()).freshness.filter(({ met }) => met === 0)).toEqual([]);
      await liveFor(harness, 2 * minute);
      expect(missing(harness)).toEqual(answers ? [] : ['experiences']);
      expect(failing(harness)).toEqual([]);
      const promised = (await harness.daemon.status.shown()).freshness.map(({ resource }) => resource);
      expect(promised.includes('experiences')).toBe(answers);
    }
  });

  it('of a list that answered before counts as missing by a second refusal a minute later', async () => {
    await using harness = await filledHarness({ products: 4, lean: true }, { cadence: { experiences: '1h' } });
    await liveFor(harness, 2 * minute);
    harness.sandbox.faults.add(noExperiences);
    makeDue(harness);
    await liveFor(harness, 40 * second);
    expect(missing(harness)).toEqual([]);
    await liveFor(harness, 2 * minute);
    expect(missing(harness)).toEqual(['experiences']);
  });

  it('of three products counts as missing at once, by three calls', async () => {
    await using harness = await virtualHarness({ products: 12, lean: true, faults: [noProduct] });
    await harness.fill();
    expect(missing(harness)).toEqual(['product']);
    expect(harness.sandbox.calls.counts().by_status['404']).toBeLessThanOrEqual(
      3 + harness.daemon.config.budget.concurrency,
    );
  });
});

/** Lines of src/sync that decide that a key is refused or a path is missing, in `file: line`. */
function decidingIn(texts: readonly (readonly [file: string, text: string])[]): string[] {
  const deciding = /\b40[135]\b|\boffers\.(answered|refused|notOffered)\(|kind: 'key-refused'/;
  return texts.flatMap(([file, text]) =>
    text
      .split('\n')
      .filter((line) => deciding.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
}

describe('in src/sync', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  const texts = sourceFiles(src)
    .filter((file) => file.startsWith('sync/') && !file.startsWith('sync/evidence/'))
    .map((file) => [file, readFileSync(join(src, file), 'utf8')] as const);

  it('nothing but evidence/reach.ts decides that a key is refused or a path is missing', () => {
    expect(texts.length).toBeGreaterThan(50);
    expect(decidingIn(texts)).toEqual([
      // In the words for the shopper.
      "sync/checks/live-read.ts: return read.status === 401 ? 'key-refused' : 'service-refused';",
      // What has been decided, handed on.
      "sync/records/settle.ts: | { readonly kind: 'key-refused' };",
      "sync/records/settle.ts: if (to === 'key') return { kind: 'key-refused' };",
      // `probe` reports, and changes nothing.
      'sync/reports/probe.ts: if (made === null || (made.status !== 404 && made.status !== 405)) break;',
      'sync/reports/probe.ts: if (status === 401 || status === 403)',
      // Hands on which of the two it was.
      "sync/subscriptions/reads.ts: return subscriptionRefused(ports, outcome.kind === 'missing' ? 404 : 405, put_at);",
    ]);
  });

  it.each([
    'if (reading.status === 401) stop();',
    'mirror.schedule.offers.notOffered(path, now);',
    "return { kind: 'key-refused', message };",
  ])('a test sees %s (control)', (line) => {
    expect(decidingIn([['sync/late.ts', line]])).toEqual([`sync/late.ts: ${line}`]);
    expect(decidingIn([['sync/late.ts', `// ${line}`]])).toEqual([]);
  });
});
