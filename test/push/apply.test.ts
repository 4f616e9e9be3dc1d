import { describe, expect, it, vi } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { isMisuse } from '../../src/push/closure.rules.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { explainProduct } from '../../src/says/explain/explain.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { withdraw } from '../fakes/planted.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { DeliveryList, disabled, enabled, notificationOf, updated } from '../receiver/delivery-list.ts';

const minute = 60_000;
const hour = 60 * minute;

interface Notified extends AsyncDisposable {
  readonly harness: VirtualHarness;
  readonly inbox: DeliveryList;
  readonly ids: number[];
  apply(): ReturnType<DeliveryList['apply']>;
  /** Receives, applies and lets time pass. */
  post(payload: unknown, ms?: number): Promise<void>;
  live(ms: number): Promise<void>;
  query<Row>(sql: string): Row[];
  product(product_id: number): Record<string, unknown> | undefined;
  sandboxed(product_id: number): { status: string };
}

async function filled(options: Partial<SandboxOptions> = {}, config = {}): Promise<Notified> {
  const harness = await filledHarness({ lean: true, products: 30, ...options }, { scheduling: 'fixed', ...config });
  await harness.live(2 * minute);
  const inbox = new DeliveryList(harness);
  const apply = () => inbox.apply();
  const { live } = harness;
  const query = <Row>(sql: string): Row[] => harness.rows(sql);
  return {
    harness,
    inbox,
    ids: harness.sandbox.world.visible().flatMap(({ id, status }) => (status === 'available' ? [id] : [])),
    apply,
    post: async (payload, ms = 0) => {
      inbox.post(payload);
      await apply();
      if (ms > 0) await live(ms);
    },
    live,
    query,
    product: (product_id) =>
      query<Record<string, unknown>>(
        `SELECT sale_status, sellable, disabled_reason, disabled_source, expected_reopening, alternative_product_id
         FROM products WHERE product_id = ${product_id}`,
      )[0],
    sandboxed: (product_id) => {
      const product = harness.sandbox.world.find(product_id);
      if (product === null) throw new Error(`no product ${product_id}`);
      return product as { status: string };
    },
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  };
}

const words = { reason_code: 'out_of_season', expected_reopening: 'more_than_month' };

describe('a delivery that meets a fault of this program', () => {
  /** From now on rows of this table cannot be stored for a product. Returns another connection to the mirror. */
  function poison({ harness }: Notified, table: string, product_id: number) {
    const db = otherWriter(harness.daemon.config.mirror.path);
    db.exec(`CREATE TRIGGER poison BEFORE INSERT ON ${table} WHEN new.product_id = ${product_id}
      BEGIN SELECT raise(ABORT, 'a fault of ours'); END`);
    return db;
  }

  it('is set aside and named, its product is read, and those beside it are applied', async () => {
    await using at = await filled();
    const [poisonous = 0, other = 0] = at.ids;
    poison(at, '_closure', poisonous).close();
    for (const id of [poisonous, other]) at.inbox.post(notificationOf(id, disabled(words)));
    expect(await at.apply()).toEqual({ applied: 1, superseded: 0, quarantined: 1 });
    expect(at.inbox.states()).toEqual(['quarantined', 'applied']);
    expect(at.product(other)).toMatchObject({ sellable: 0, disabled_source: 'notification' });
    expect(at.harness.record(poisonous, 'product_detail')).toMatchObject({ due_reason: 'notified' });
    expect(at.harness.log.lines()).toContainEqual(expect.objectContaining({ delivery_id: 1, level: 'error' }));
    expect(await at.apply()).toEqual({ applied: 0, superseded: 0, quarantined: 0 });
    // The same where decoding it meets the fault.
    using _ = vi.spyOn(String.prototype, 'toWellFormed').mockImplementationOnce(() => {
      throw new Error('a fault of ours');
    });
    await at.post(notificationOf(other, disabled(words)));
    expect(at.inbox.states()).toEqual(['quarantined', 'applied', 'quarantined']);
    expect(at.harness.log.lines()).toContainEqual(expect.objectContaining({ delivery_id: 3, level: 'error' }));
  });

  it('of which not even the names can be used is treated as an unreadable one: the list is read', async () => {
    await using at = await filled();
    const [id = 0] = at.ids;
    const db = poison(at, '_notice', id);
    const due = db.prepare<[], number>("SELECT due_at FROM _record WHERE resource = 'products'").pluck();
    const before = due.get();
    await at.post(notificationOf(id, updated()));
    expect(at.inbox.states()).toEqual(['quarantined']);
    expect(due.get()).toBeLessThan(before ?? 0);
    // A lock is no such fault: the delivery waits.
    at.harness.daemon.writer.serve();
    db.exec('BEGIN IMMEDIATE');
    await expect(at.post(notificationOf(id, updated()))).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
    expect(at.inbox.states()).toEqual(['quarantined', 'waiting']);
    db.close();
  });
});

describe('a notification that a product is closed', () => {
  it('takes it off sale at once, with its words, and a read confirms it', async () => {
    await using test = await filled();
    const [id = 0, other = 0] = test.ids;
    test.sandboxed(id).status = 'unavailable';
    await test.post(notificationOf(id, disabled({ ...words, recommended_alternative_product_id: other })));
    const closed = {
      sellable: 0,
      disabled_reason: 'out_of_season',
      expected_reopening: 'more_than_month',
      alternative_product_id: other,
    };
    expect(test.product(id)).toEqual({ ...closed, sale_status: 'enabled', disabled_source: 'notification' });
    expect(test.query('SELECT * FROM alternatives')).toEqual([]);
    await test.live(minute);
    expect(test.product(id)).toMatchObject({ sellable: 0, sale_status: 'disabled', disabled_source: 'read' });
    expect(test.query('SELECT * FROM alternatives')).toEqual([{ product_id: id, alternative_product_id: other }]);
    expect(test.query(`SELECT kind FROM changes WHERE kind LIKE 'sale%'`)).toEqual([{ kind: 'sale_disabled' }]);
    expect(test.inbox.states()).toEqual(['applied']);
  });

  it('is confirmed by a read at once, although its details were read because of a notification just before', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    await test.post(notificationOf(id, updated()), 10_000);
    test.sandboxed(id).status = 'unavailable';
    await test.post(notificationOf(id, disabled(words)), 10_000);
    expect(test.product(id)).toMatchObject({ sale_status: 'disabled', disabled_source: 'read' });
  });

  it('is explained as what has become of it', async () => {
    await using test = await filled();
    const [id = 0, other = 0] = test.ids;
    const states = (product_id: number) =>
      explainProduct(test.harness.daemon.sync, product_id)?.closures.map(({ state }) => state);
    for (const each of [id, other]) await test.post(notificationOf(each, disabled(words)));
    test.sandboxed(id).status = 'unavailable';
    expect([states(id), states(other)]).toEqual([['off sale until read'], ['off sale until read']]);
    await test.live(13 * minute);
    expect([states(id), states(other)]).toEqual([['confirmed'], ['undone']]);
    test.sandboxed(id).status = 'available';
    await test.post(notificationOf(id, enabled), minute);
    expect(states(id)).toEqual(['over']);
  });

  it('that nobody has announced is believed for a day at most, one that was for as long as it says', async () => {
    await using test = await filled({}, { cadence: { products: '7d' } });
    const [announced = 0, found = 0] = test.ids;
    for (const id of [announced, found]) test.sandboxed(id).status = 'unavailable';
    await test.post(notificationOf(announced, disabled(words)), 2 * minute);
    const dates = (product_id: number) =>
      test.harness.explain(product_id).records.filter(({ resource }) => resource === 'availability');
    await test.harness.resync(['availability'], [announced, found]);
    await test.live(5 * minute);
    const reasons = (product_id: number) => new Set(dates(product_id).map(({ due_reason }) => due_reason));
    expect([reasons(announced), reasons(found)]).toEqual([new Set(['cadence-elapsed']), new Set(['reopening-look'])]);
  });

  it('that is not true is undone when no cache can have the state before it, and not earlier', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    await test.post(notificationOf(id, disabled(words)), 30_000);
    expect(test.product(id)).toMatchObject({ sellable: 0, disabled_reason: 'out_of_season' });
    await test.live(11 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 0, disabled_reason: 'out_of_season' });
    await test.live(2 * minute);
    expect(test.product(id)).toEqual({
      sale_status: 'enabled',
      sellable: 1,
      disabled_reason: null,
      disabled_source: null,
      expected_reopening: null,
      alternative_product_id: null,
    });
    expect(test.query(`SELECT kind FROM changes WHERE kind LIKE 'sale%'`)).toEqual([
      { kind: 'sale_disabled' },
      { kind: 'sale_enabled' },
    ]);
  });

  it('and open, in one delivery, leaves it off sale until one read tells', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    test.inbox.post(notificationOf(id, enabled, disabled(words)));
    await test.apply();
    expect(test.product(id)).toMatchObject({ sellable: 0 });
    await test.live(minute);
    expect(test.product(id)).toMatchObject({ sellable: 1 });
  });

  it('is relisted by the read after the notification that it is open', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    test.sandboxed(id).status = 'unavailable';
    await test.post(notificationOf(id, disabled(words)), 2 * minute);
    test.sandboxed(id).status = 'available';
    await test.post(notificationOf(id, enabled));
    expect(test.product(id)).toMatchObject({ sellable: 0 });
    await test.live(minute);
    expect(test.product(id)).toMatchObject({ sellable: 1, sale_status: 'enabled', disabled_reason: null });
  });
});

describe('closures of one product', () => {
  it('come a hundred times in five minutes, and the product is read once a minute', async () => {
    const asked: string[] = [];
    await using test = await filled({ served: ({ path }) => asked.push(path) });
    const [id = 0] = test.ids;
    asked.length = 0;
    for (let second = 0; second < 300; second += 3) await test.post(notificationOf(id, disabled(words)), 3000);
    await test.live(2 * minute);
    expect(asked.filter((path) => path === `/v2/products/${id}`).length).toBeLessThanOrEqual(8);
  });

  it('come while its reads fail, and they are tried again once a minute', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    const fault = { kind: 'status', status: 400, body: '{"success":false}', path: `/products/${id}\\?` } as const;
    test.harness.sandbox.faults.add(fault);
    for (let second = 0; second < 240; second += 3)
      await test.post(notificationOf(id, updated(), disabled(words)), 3000);
    const detail = test.harness.record(id, 'product_detail');
    expect(detail?.failures).toBe(5);
  });

  it('end when it is withdrawn: they count no more among those that wait', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    await test.post(notificationOf(id, disabled(words)));
    withdraw(test.harness, id, test.harness.clock.now());
    expect(test.harness.status().closures).toEqual({ unconfirmed: 0, held: 0, mostly_false: 0 });
  });
});

describe('a closure where the profile has no single-product read', () => {
  const listOnly = { service: { profile: { authorization: { header: null }, paths: { product: null } } } };

  it('that is not true is undone by two walks over the list', async () => {
    await using test = await filled({}, listOnly);
    const [id = 0] = test.ids;
    await test.live(hour);
    await test.post(notificationOf(id, disabled(words)), 30_000);
    expect(test.product(id)).toMatchObject({ sellable: 0 });
    await test.live(30 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 1 });
  });

  it('that comes while the list is walked has it walked again', async () => {
    let during: (() => void) | null = null;
    const served = ({ path }: { path: string }) => {
      if (path === '/v2/products') during?.();
    };
    await using test = await filled({ served }, listOnly);
    const [id = 0] = test.ids;
    await test.live(hour);
    let applied: Promise<unknown> = Promise.resolve();
    during = () => {
      during = null;
      test.inbox.post(notificationOf(id, disabled(words)));
      applied = test.apply();
    };
    await test.post('{', 2 * minute);
    await applied;
    expect(test.product(id)).toMatchObject({ sellable: 0, sale_status: 'enabled' });
    test.sandboxed(id).status = 'unavailable';
    await test.live(30 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 0, sale_status: 'disabled' });
  });
});

describe('the alternative of a closed product', () => {
  it('is the one recommended in its place where it is itself closed, and never the product itself', async () => {
    await using test = await filled();
    const [a = 0, b = 0, c = 0] = test.ids;
    for (const id of [a, b]) test.sandboxed(id).status = 'unavailable';
    const to = (id: number) => disabled({ recommended_alternative_product_id: id });
    await test.post(notificationOf(a, to(b)));
    await test.post(notificationOf(b, to(c)), minute);
    const alternatives = () => test.query('SELECT * FROM alternatives ORDER BY product_id');
    const both = [a, b].sort((x, y) => x - y).map((id) => ({ product_id: id, alternative_product_id: c }));
    expect(alternatives()).toEqual(both);
    await test.post(notificationOf(b, to(a)), minute);
    expect(alternatives()).toEqual([]);
    test.sandboxed(a).status = 'available';
    await test.post(notificationOf(a, enabled), minute);
    expect(alternatives()).toEqual([{ product_id: b, alternative_product_id: a }]);
  });

  it('is kept where a further notification names none, unless the product was open in between', async () => {
    await using test = await filled();
    const [id = 0, other = 0, third = 0] = test.ids;
    const closes = (alternative?: number) => disabled({ ...words, recommended_alternative_product_id: alternative });
    const alternative = () => test.product(id)?.alternative_product_id;
    test.sandboxed(id).status = 'unavailable';
    test.inbox.post(notificationOf(id, closes(other)));
    await test.post(notificationOf(id, closes()), minute);
    expect(alternative()).toBe(other);
    await test.post(notificationOf(id, closes()), minute);
    expect(alternative()).toBe(other);
    // Opened and closed again before a read could see it: in one delivery, and in two.
    await test.post(notificationOf(id, enabled, closes()), minute);
    expect(test.product(id)).toMatchObject({ sellable: 0, alternative_product_id: null });
    await test.post(notificationOf(id, closes(third)), minute);
    expect(alternative()).toBe(third);
    test.inbox.post(notificationOf(id, enabled));
    await test.post(notificationOf(id, closes()), minute);
    expect(test.product(id)).toMatchObject({ sellable: 0, alternative_product_id: null });
  });
});

describe('a mass of closures', () => {
  it('beyond a tenth of the products waits for its reads, and is counted until then', async () => {
    await using test = await filled({ products: 60 });
    const [first = 0, ...others] = test.ids.slice(0, 40);
    test.sandboxed(others[30] ?? 0).status = 'unavailable';
    const products = [first, ...others].map((product_id) => ({ product_id, changes: [disabled(words)] }));
    await test.post({ products });
    const off = () => test.query<{ n: number }>('SELECT count(*) AS n FROM products WHERE sellable = 0')[0]?.n ?? 0;
    const before = test.harness.sandbox.world.visible().filter(({ status }) => status !== 'available').length - 1;
    expect(off() - before).toBe(6);
    expect(test.harness.status().closures.held).toBe(34);
    await test.live(13 * minute);
    expect(off() - before).toBe(1);
    expect(test.harness.status().closures.held).toBe(0);
  });

  it('that most reads contradict is taken for misuse of the address', needs('time'), async () => {
    await using test = await filled({ products: 120 });
    const products = test.ids.slice(0, 101).map((product_id) => ({ product_id, changes: [disabled(words)] }));
    await test.post({ products }, 20 * minute);
    expect(isMisuse(test.harness.daemon.mirror.push.closures.decided({ limit: 100 }))).toBe(true);
  });
});

describe('a notification of changed details', () => {
  it('has the whole product read, and what came during a fetch is read again', async () => {
    const asked: string[] = [];
    let during: (() => void) | null = null;
    await using test = await filled({
      served: ({ path }) => {
        asked.push(path);
        if (/\/products\/\d+$/.test(path)) during?.();
      },
    });
    const [id = 0] = test.ids;
    asked.length = 0;
    during = () => {
      test.inbox.post(notificationOf(id, updated()));
      during = null;
    };
    await test.post(notificationOf(id, updated('tags')), 1000);
    expect(asked.filter((path) => path.includes(`/products/${id}`)).sort()).toEqual(
      [
        '',
        '/availability',
        '/availability',
        '/availability',
        '/checkout_information',
        '/product-variants',
      ].map((part) => `/v2/products/${id}${part}`),
    ); // biome-ignore format: a list
    await test.apply();
    await test.live(3 * minute);
    expect(asked.filter((path) => path === `/v2/products/${id}`)).toHaveLength(2);
    expect(test.harness.explain(id).records.filter(({ due_reason }) => due_reason === 'notified')).toEqual([]);
  });

  it('that came while the clock was wrong does not hide one that comes during the next fetch', async () => {
    let reads = 0;
    let during: (() => void) | null = null;
    const served = ({ path }: { path: string }) => {
      if (!/\/products\/\d+$/.test(path)) return;
      reads += 1;
      during?.();
    };
    await using test = await filled({ served });
    const [id = 0] = test.ids;
    const { mirror, clock } = test.harness.daemon.sync;
    mirror.transaction(() => {
      mirror.schedule.records.notify([id], instant(Date.parse('2038-01-19T03:14:07Z')), clock.now());
      mirror.healInstants(clock.now());
    });
    reads = 0;
    during = () => {
      during = null;
      test.inbox.post(notificationOf(id, updated()));
      void test.apply();
    };
    await test.live(3 * minute);
    expect(reads).toBe(2);
  });

  it('comes a hundred times a minute, and the product is read once a minute', async () => {
    const asked: string[] = [];
    await using test = await filled({ served: ({ path }) => asked.push(path) });
    const [id = 0] = test.ids;
    asked.length = 0;
    for (let second = 0; second < 300; second += 3) await test.post(notificationOf(id, updated()), 3000);
    await test.live(2 * minute);
    expect(asked.filter((path) => path === `/v2/products/${id}`).length).toBeLessThanOrEqual(7);
  });

  it('is superseded by a later one that waits beside it', async () => {
    await using test = await filled();
    const [id = 0, other = 0] = test.ids;
    test.inbox.post(notificationOf(id, disabled(words)));
    test.inbox.post(notificationOf(other, updated()));
    test.inbox.post(notificationOf(id, updated()));
    test.inbox.post(notificationOf(other, disabled()));
    expect(await test.apply()).toEqual({ applied: 3, superseded: 1, quarantined: 0 });
    expect(test.inbox.states()).toEqual(['applied', 'superseded', 'applied', 'applied']);
    expect([id, other].map((each) => test.product(each)?.sellable)).toEqual([0, 0]);
  });

  it('reopens a product also where an update of it waits beside it', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    await test.post(notificationOf(id, disabled(words)));
    test.inbox.post(notificationOf(id, enabled));
    await test.post(notificationOf(id, updated()), 2 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 1 });
  });

  it('is remembered as said where a later one supersedes it, each kind of change of its own', async () => {
    await using test = await filled();
    const [id = 0] = test.ids;
    test.inbox.post(notificationOf(id, enabled));
    test.inbox.post(notificationOf(id, disabled(words)));
    test.inbox.post(notificationOf(id, disabled(words), updated()));
    expect(await test.apply()).toEqual({ applied: 1, superseded: 2, quarantined: 0 });
    expect(test.query('SELECT change_type FROM _notice ORDER BY change_type')).toEqual(
      ['checkout_disabled', 'checkout_enabled', 'product_details_update'].map((change_type) => ({ change_type })),
    );
  });
});

describe('a delivery that makes no sense', () => {
  it('is kept aside, and brings one look at the list an hour', async () => {
    const asked: string[] = [];
    await using test = await filled({ served: ({ path }) => asked.push(path) });
    await test.live(hour);
    asked.length = 0;
    for (const body of ['{', '[]', JSON.stringify(notificationOf(1, updated())), '7'])
      await test.post(body, 5 * minute);
    expect(test.inbox.states()).toEqual(['quarantined', 'quarantined', 'applied', 'quarantined']);
    expect(asked.filter((path) => path === '/v2/products')).toHaveLength(1);
  });
});

it(
  'a closure of a product that is not mirrored is stored nowhere, and brings one look at the list',
  needs('time'),
  async () => {
    const asked: string[] = [];
    await using test = await filled({ served: ({ path }) => asked.push(path) });
    await test.live(hour);
    asked.length = 0;
    await test.post(JSON.stringify(notificationOf(10_000_001, disabled(words))), 5 * minute);
    expect(asked.filter((path) => path === '/v2/products')).toHaveLength(1);
    expect(test.query('SELECT product_id FROM _closure')).toEqual([]);
  },
);

describe('a flood of forged deliveries', () => {
  it('costs at most three tenths of the calls, and nobody else is late', needs('time'), async () => {
    await using test = await filled({ products: 200 }, { budget: { requests_per_second: 10 } });
    const started = () => test.harness.daemon.limiter.state().lanes.notification.calls;
    // Passes go on until the end of a step, which begins with the next whole minute.
    await test.live(minute + 59_000 - (test.harness.clock.now() % minute));
    for (let post = 0; post < 500; post += 1) {
      const id = test.ids[post % 50] ?? 0;
      test.inbox.post(notificationOf(id, updated(), disabled(words)));
      test.inbox.post(notificationOf(10_000_000 + post, updated()));
    }
    const [calls, at] = [started(), test.harness.clock.now()];
    await test.apply();
    for (let each = 0; each < 3; each += 1) {
      await test.live(minute);
      const seconds = (test.harness.clock.now() - at) / 1000;
      const allowed = 0.3 * test.harness.daemon.limiter.state().rate * seconds;
      // And one look at each of fifty products whose dates contradict what was said of it.
      expect(started() - calls).toBeLessThan(allowed + 8 + 50);
    }
    expect(started() - calls).toBeGreaterThan(150);
    await test.live(10 * minute);
    expect(
      test.query("SELECT product_id FROM products WHERE disabled_source IS NOT NULL AND sale_status <> 'disabled'"),
    ).toEqual([]);
    expect(test.query('SELECT resource FROM freshness WHERE met = 0')).toEqual([]);
  });
});
