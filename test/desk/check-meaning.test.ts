import { describe, expect, it } from 'vitest';
import { CheckDesk } from '../../src/desk/check.ts';
import type { CheckQuestion } from '../../src/desk/check-question.rules.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const date = '2026-12-05';
const minute = 60_000;

/** A filled mirror in two currencies, and a product that sells tickets on that date. */
async function filled(config: Record<string, unknown> = {}) {
  const service = { currencies: ['EUR', 'USD'] };
  const harness = await filledHarness({ products: 6 }, { service, scheduling: 'fixed', ...config });
  await harness.live(2 * minute);
  const desk = new CheckDesk(harness.daemon);
  const sells = (each: SandboxProduct) => harness.sandbox.world.days(each, date, date, 'EUR').length > 0;
  const product = harness.sandbox.world.visible().find((each) => each.status === 'available' && sells(each));
  if (product === undefined) throw new Error('no product sells tickets on that date');
  const query = <Row>(sql: string): Row[] => harness.rows(sql);
  const states = () =>
    Object.fromEntries(
      query<{ currency: string; state: string }>(
        `SELECT currency, state FROM availability_days WHERE product_id = ${product.id} AND date = '${date}'`,
      ).map(({ currency, state }) => [currency, state]),
    );
  const bookable = () =>
    query<{ days: number }>(`SELECT count(*) AS days FROM bookable_days WHERE product_id = ${product.id}`)[0]?.days;
  return {
    harness,
    product,
    query,
    states,
    bookable,
    check: async (question: Partial<CheckQuestion> = {}) => {
      const answer = await harness.drive(desk.check({ product_id: product.id, date, ...question }, never));
      await harness.drive(desk.stored());
      return answer;
    },
    failures: () => harness.explain(product.id).records.map(({ failures }) => failures),
    [Symbol.asyncDispose]: async () => {
      await desk[Symbol.asyncDispose]();
      await harness[Symbol.asyncDispose]();
    },
  };
}

describe('a check in a currency', () => {
  it('is answered in it, whether it names the currency or the expected price does', async () => {
    await using test = await filled();
    const price = (amount: number | undefined, currency: string) => ({ amount, currency });
    const [euro, dollar] = [await test.check(), await test.check({ currency: 'USD' })];
    expect(euro).toMatchObject({ verdict: 'holds', now: { price: { currency: 'EUR' } } });
    expect(dollar).toMatchObject({
      verdict: 'holds',
      now: { price: { currency: 'USD' } },
      mirror: { price: { currency: 'USD' } },
    });
    const expect_price = price(dollar.now?.price?.amount, 'USD') as { amount: number; currency: string };
    expect(await test.check({ expect_price })).toMatchObject({ verdict: 'holds', now: { price: expect_price } });
    await expect(test.check({ currency: 'XXX' })).rejects.toMatchObject({
      code: 'currency-not-mirrored',
      exitCode: 64,
    });
    await expect(test.check({ currency: 'EUR', expect_price })).rejects.toMatchObject({
      code: 'currencies-differ',
      exitCode: 64,
    });
  });

  it('that finds a date sold out stores so in every currency at once, and the next reads agree', async () => {
    await using test = await filled();
    expect(test.states()).toEqual({ EUR: 'available', USD: 'available' });
    test.product.sold_out.add(date);
    expect(await test.check()).toMatchObject({ verdict: 'gone', reasons: ['date-sold-out'] });
    expect(test.states()).toEqual({ EUR: 'sold_out', USD: 'sold_out' });
  });

  it('that is wrong about a sold-out date is put right in every currency by their next reads', async () => {
    await using test = await filled();
    test.product.sold_out.add(date);
    await test.check();
    test.product.sold_out.delete(date);
    await test.check();
    await test.harness.live(7 * 60 * minute);
    expect(test.states()).toEqual({ EUR: 'available', USD: 'available' });
  });

  it('that finds another price has the dates in the other currencies read at once', async () => {
    await using test = await filled();
    const read = () =>
      test.query<{ price: number }>(
        `SELECT lowest_price AS price FROM availability_days
         WHERE product_id = ${test.product.id} AND date = '${date}' AND currency = 'USD'`,
      )[0]?.price;
    const before = read() ?? 0;
    test.product.price *= 2;
    expect(await test.check()).toMatchObject({ verdict: 'changed', reasons: ['price-changed'] });
    await test.harness.live(2 * minute);
    expect(read()).toBeGreaterThan(1.9 * before);
  });
});

describe('a check of a product that the service does not have', () => {
  const paths = {
    product: '^/v2/products/\\d+(/availability)?\\?',
    specification: '^/v2/products/\\d+/(availability|checkout_information)\\?',
  };
  const specified = { service: { currencies: ['EUR', 'USD'], profile: { paths: { product: null } } } };

  it.each([
    ['its dates and its own read', paths.product, {}],
    ['its dates and its checkout information, where there is no such read', paths.specification, specified],
  ])('by 404 for %s is gone, and no date is offered until a read has it again', async (_, path, config) => {
    await using test = await filled(config);
    const { harness } = test;
    const before = test.bookable();
    expect(before).toBeGreaterThan(10);
    // Of three products it would be about the path.
    harness.sandbox.faults.add({ kind: 'status', status: 404, path: path.replace('\\d+', `${test.product.id}`) });
    expect(await test.check()).toMatchObject({
      verdict: 'gone',
      reasons: ['not-found'],
      now: null,
      mirror: { state: 'available' },
    });
    expect(test.bookable()).toBe(0);
    expect(test.failures()).toEqual(test.failures().map(() => 0));
    expect(await test.check({ currency: 'USD' })).toMatchObject({ verdict: 'gone', mirror: { state: 'not_on_sale' } });
    await harness.live(5 * minute);
    expect(test.bookable()).toBe(0);
    harness.sandbox.faults.clear();
    expect(await test.check()).toMatchObject({ verdict: 'holds' });
    await harness.live(5 * minute);
    expect(test.bookable()).toBe(before);
  });
});
