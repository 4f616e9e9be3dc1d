import { expect, it } from 'vitest';
import { optionalPathOf } from '../../src/schedule/offer.rules.ts';
import { type Resource, resourceNames } from '../../src/schedule/resources.rules.ts';
import { someOf } from '../fakes/thorough.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The addresses of each resource. */
const addresses: Readonly<Record<Resource, string>> = {
  products: '^/v2/products(\\?|$)',
  experiences: '^/v2/experiences',
  tags: '^/v2/tags',
  product_detail: '^/v2/products/\\d+(\\?|$)',
  checkout_information: '/checkout_information',
  variants: '/product-variants',
  availability: '/availability',
};
const optional = resourceNames.filter((resource) => optionalPathOf(resource) !== null);
const needed = resourceNames.filter((resource) => optionalPathOf(resource) === null);

const refusing = (resource: Resource, status: number) =>
  ({
    kind: 'status',
    status,
    path: addresses[resource],
    body: '{"success":false,"error":"unauthorized","message":"Incorrect key, or not authorised for this resource"}',
  }) as const;

const refusals = ({ sandbox }: VirtualHarness, status: number) => sandbox.calls.counts().by_status[status] ?? 0;
const missing = ({ daemon }: VirtualHarness) => daemon.notOffered().map(({ path }) => path);

async function shown({ ask }: VirtualHarness) {
  const { conditions, freshness, failures, filled_at } = await ask('GET /v1/status');
  return {
    failures,
    conditions: conditions.map(({ code, says }) => `${code}: ${says}`),
    missed: freshness.filter(({ met }) => met === 0).map(({ resource }) => resource),
    resources: new Set(freshness.map(({ resource }) => resource)),
    isFilled: filled_at !== null,
  };
}

it.each(someOf(optional.flatMap((resource) => [401, 403].map((status) => [resource, status] as const))))(
  'a mirror whose key may not read %s (%i) is filled and green, with one condition and two refused calls a day',
  async (resource, status) => {
    await using harness = await virtualHarness({ products: 12, lean: true, faults: [refusing(resource, status)] });
    await harness.fill();
    await harness.live(5 * minute);
    const first = refusals(harness, status);
    expect(first).toBeLessThanOrEqual(20);
    await harness.live(3 * day);
    const { conditions, missed, resources, isFilled, failures } = await shown(harness);
    expect([isFilled, missed, failures]).toEqual([true, [], []]);
    expect(conditions).toEqual([
      expect.stringMatching(/^not-for-this-key: this key may not read .*\.paths\.\w+: null/),
    ]);
    expect(resources.has(resource)).toBe(false);
    expect(refusals(harness, status) - first).toBeLessThanOrEqual(2 * 3);
    // Nobody took the refusals for a limit.
    expect(harness.daemon.limiter.state().throttled_count).toBe(0);
    harness.sandbox.faults.clear();
    await harness.live(day + hour);
    expect([missing(harness), (await shown(harness)).conditions]).toEqual([[], []]);
    expect((await shown(harness)).resources.has(resource)).toBe(true);
  },
);

it.each(someOf(needed.map((resource) => [resource] as const)))(
  'a key that may not read %s is an error',
  async (resource) => {
    await using harness = await virtualHarness({ products: 12, lean: true, faults: [refusing(resource, 401)] });
    await harness.live(2 * hour, 15_000);
    const { conditions } = await harness.daemon.status.shown();
    expect(conditions.some(({ severity }) => severity === 'error')).toBe(true);
    expect(missing(harness)).toEqual([]);
  },
);
