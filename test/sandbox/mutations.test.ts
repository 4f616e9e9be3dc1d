import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { CatalogueEntry } from '../../src/sandbox/world/catalogue.ts';
import type { Edit } from '../../src/sandbox/world/edits.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const texts: Edit[] = [
  { field: 'title', value: 'Another title' },
  { field: 'tagline', value: null },
  { field: 'summary', value: 'Two lines\r\nof it' },
  { field: 'description', value: '“Déjà vu” \u2028 & more' },
  { field: 'whats_included', value: '* Nothing' },
  { field: 'whats_excluded', value: '* Everything' },
  { field: 'starting_time', value: '10:30' },
  { field: 'duration', value: '02:00' },
  { field: 'exhibitions', value: ['Light'] },
  { field: 'languages', value: ['en', 'nl'] },
  { field: 'must_know', value: 'Bring nothing.' },
  { field: 'good_to_know', value: null },
  { field: 'pre_purchase', value: 'Choose.' },
  { field: 'usage', value: 'Show it.' },
  { field: 'included', value: '* Nothing' },
  { field: 'excluded', value: null },
  { field: 'post_purchase', value: 'Wait.' },
  { field: 'tags', value: [1, 2, 3] },
];

const everything = { resources: [...resyncResources], product_ids: [], from: null, to: null };

/** Reads everything again. */
async function reread(harness: VirtualHarness): Promise<void> {
  const { job_id } = requestResync(harness.daemon.sync, everything);
  await harness.runUntil(() => harness.job(job_id).finished_at !== null);
}

describe('what happens to a product', () => {
  it('is what every read says from then on, and what a mirror that reads it shows: edits, closures, reopenings', async () => {
    await using harness = await filledHarness({ products: 30, lean: true });
    const { world } = harness.sandbox;
    const open = harness.sandbox.products().filter(({ status }) => status === 'available');
    const shut = harness.sandbox.products().filter(({ status }) => status === 'unavailable');
    texts.forEach((edit, index) => {
      world.edit(open[index % 5]?.id ?? 0, edit);
    });
    world.edit(open[5]?.id ?? 0, { field: 'variants', value: [{ id: 99, label: 'Pensioner', factor: 0.1 }] });
    world.disable(open[6]?.id ?? 0, { reason: 'out_of_season', expected_reopening: 'more_than_month' });
    world.disable(open[0]?.id ?? 0, { alternative: open[1]?.id ?? 0 });
    for (const { id } of shut) world.enable(id);
    expect(shut.length).toBeGreaterThan(0);
    await reread(harness);
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [], products: 30 });
    // The comparison sees what only one of them knows (control).
    world.edit(open[7]?.id ?? 0, { field: 'usage', value: 'Not read yet' });
    world.disable(open[8]?.id ?? 0);
    const { first } = await harness.compare();
    expect(first.join('\n')).toContain('checkout_information.document');
    expect(first.join('\n')).toContain('products.sale_status');
    world.enable(open[6]?.id ?? 0);
    await reread(harness);
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [], products: 30 });
  });

  it('is shown of a recorded answer too, which stays as it was otherwise', async () => {
    const recorded = {
      id: '900001',
      title: 'Tower',
      description: 'High.',
      sale_status: 'available',
      price: 9.5,
      odd: 1,
    };
    const entry: CatalogueEntry = {
      id: 900_001,
      title: 'Tower',
      tagline: '',
      city: 'Rome',
      country: 'Italy',
      price_cents: 950,
      tag_ids: [],
      rating: null,
      available: true,
      recorded: { ...recorded, tag_ids: ['4'], venue: { id: '5' } },
    };
    await using sandbox = await startSandbox({ clock: virtualClock(0), seed: 1, products: 0, catalogue: [entry] });
    sandbox.world.disable(entry.id, { reason: 'other', expected_reopening: 'within_month' });
    sandbox.world.edit(entry.id, { field: 'description', value: 'Higher.' });
    sandbox.world.edit(entry.id, { field: 'tags', value: [5] });
    sandbox.world.edit(entry.id, { field: 'tagline', value: 'Look' });
    const answer = (await (await fetch(`${sandbox.url}/v2/products/${entry.id}`)).json()) as { product: object };
    expect(answer.product).toEqual({
      ...recorded,
      description: 'Higher.',
      tagline: 'Look',
      tag_ids: ['5'],
      venue: { id: '5' },
      sale_status: 'unavailable',
      sale_status_reason: 'other',
      sale_status_expected_reopen: 'within_month',
    });
  });

  it('is refused where it makes no sense', async () => {
    await using sandbox = await startSandbox({ clock: virtualClock(0), seed: 1, products: 1 });
    const [{ id = 0 } = {}] = sandbox.products();
    expect(() => sandbox.world.disable(1)).toThrow('no product 1');
    expect(() => sandbox.world.edit(id, { field: 'price' as 'title', value: 'x' })).toThrow('field: one of');
    for (const [field, value] of [
      ['title', null],
      ['description', 1],
      ['tags', ['1']],
      ['variants', []],
      ['variants', [{ id: 1 }]],
      ['languages', 'en'],
    ] as const)
      expect(() => sandbox.world.edit(id, { field, value }), field).toThrow('value: ');
  });
});

describe('what a person may do with it', () => {
  async function post(url: string, body?: object) {
    const response = await fetch(url, { method: 'POST', body: body === undefined ? null : JSON.stringify(body) });
    return { status: response.status, json: (await response.json()) as unknown };
  }

  it('is to close, open and edit a product, and to look at the subscriptions', async () => {
    await using sandbox = await startSandbox({ clock: virtualClock(0), seed: 1, products: 3 });
    const [{ id = 0 } = {}] = sandbox.products();
    const product = `${sandbox.url}/sandbox/products/${id}`;
    expect(await post(`${product}/disable`, { reason: 'other', alternative: 5 })).toMatchObject({
      status: 200,
      json: { product_id: id, sale_status: 'unavailable', reason: 'other', expected_reopening: null, alternative: 5 },
    });
    expect(await post(`${product}/enable`)).toMatchObject({ json: { sale_status: 'available', alternative: null } });
    expect(await post(`${product}/edit`, { field: 'usage', value: 'Show it.' })).toMatchObject({
      json: { product_id: id, field: 'usage', value: 'Show it.' },
    });
    for (const [path, body, status] of [
      ['products/1/disable', {}, 404],
      [`products/${id}/destroy`, {}, 404],
      [`products/${id}/disable`, { alternative: 'x' }, 400],
      [`products/${id}/edit`, { field: 'title' }, 400],
      ['subscriptions/s/sending', { sending: 'none' }, 404],
      ['elsewhere', {}, 404],
    ] as const)
      expect((await post(`${sandbox.url}/sandbox/${path}`, body)).status, path).toBe(status);
    expect(await (await fetch(`${sandbox.url}/sandbox/subscriptions`)).json()).toEqual([]);
    await fetch(`${sandbox.url}/v2/product-change-notification/s`, {
      method: 'PUT',
      body: JSON.stringify({
        subscription_type: 'products_i_sell',
        change_types: ['checkout_disabled'],
        callback_url: 'http://127.0.0.1:9/',
      }),
    });
    expect(await post(`${sandbox.url}/sandbox/subscriptions/s/sending`, { sending: 'none' })).toMatchObject({
      status: 200,
      json: { subscription_id: 's', sending: 'none' },
    });
    expect(await (await fetch(`${sandbox.url}/sandbox/subscriptions`)).json()).toEqual(sandbox.subscriptions());
  });
});
