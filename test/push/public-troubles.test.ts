import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { type NotifiedHarness, notifiedHarness } from '../fakes/notified-harness.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { disabled, enabled, notificationOf, updated } from '../receiver/delivery-list.ts';

/*
 * Troubles that people reported in public about jobs like this one, and that no other test holds. Each row has a lie, which
 * must not change what a shop sees, and as its control a truth about the same, which must.
 */

const second = 1000;
const minute = 60 * second;

/** Members of the service's answers that are changed here. */
interface Answer {
  readonly product?: { title: string };
  readonly dates?: DateAnswer[];
}
interface DateAnswer {
  date: string;
  availability?: unknown;
  timeslots: { variants: { price_mediation: { total_retail_price_incl_vat: unknown } }[] }[];
}
/** Changes an answer. `other`: the same answer about another product. */
type Change = (answer: Answer, other: Answer) => unknown;

const eachDate = (change: (date: DateAnswer) => void) => (answer: Answer) => {
  answer.dates?.forEach(change);
  return answer;
};
const priced = (price: unknown) =>
  eachDate(({ timeslots }) => {
    for (const { price_mediation } of timeslots.flatMap(({ variants }) => variants))
      price_mediation.total_retail_price_incl_vat = price;
  });
const isEven = ({ date }: DateAnswer) => Number(date.slice(-1)) % 2 === 0;

const itself = ({ id }: SandboxProduct) => `/v2/products/${id}?`;
const dates = ({ id }: SandboxProduct) => `/v2/products/${id}/availability?`;

const soldDates = `SELECT date FROM bookable_days WHERE product_id = @id AND date BETWEEN '2026-11-25' AND '2026-12-10'`;
const troubles: readonly {
  readonly claim: string;
  readonly of: (product: SandboxProduct) => string;
  readonly lie: Change;
  readonly truth: Change;
  /** Query for what a shop sees of the product. */
  readonly sees: string;
}[] = [
  {
    claim: 'an empty text for the number of places is not unlimited places',
    of: dates,
    lie: eachDate((date) => {
      date.availability = '';
    }),
    truth: eachDate((date) => {
      date.availability = undefined;
    }),
    sees: `SELECT count(*) FROM availability_days
           WHERE product_id = @id AND state = 'available' AND availability IS NULL AND stale = 0`,
  },
  {
    claim: 'a price of null is not free',
    of: dates,
    lie: priced(null),
    truth: priced(0),
    sees: 'SELECT count(*) FROM availability_slots WHERE product_id = @id AND retail_price = 0',
  },
  {
    claim: 'a date that is written as an instant of the evening before, in UTC, is not sold a day early',
    of: dates,
    lie: eachDate((date) => {
      if (isEven(date)) date.date = new Date(Date.parse(date.date) - 60 * minute).toISOString();
    }),
    truth: ({ dates = [], ...answer }) => ({ ...answer, dates: dates.filter((date) => !isEven(date)) }),
    sees: soldDates,
  },
  {
    claim: 'an answer about another product is not shown under the one that was asked for',
    of: itself,
    lie: (_, other) => other,
    truth: ({ product }) => ({ product: { ...product, title: 'Another name' }, success: true }),
    sees: `SELECT title FROM products WHERE product_id = @id AND language = 'en'`,
  },
];

/** Returns what a shop sees of a product before and after its answers are changed. */
async function seen({ of, sees }: (typeof troubles)[number], change: Change) {
  await using harness = await filledHarness({ products: 24 });
  const { faults, url } = harness.sandbox;
  const [product, other] = selling(harness);
  const text = await (await fetch(`${url}${itself(other)}language=en&currency=EUR`)).text();
  const look = () => rows(harness, sees, product.id);
  const before = look();
  const lied = faults.lied.bind(faults);
  faults.lied = (method, address, body) => {
    const said = lied(method, address, body);
    return address.startsWith(of(product)) ? JSON.stringify(change(JSON.parse(said), JSON.parse(text))) : said;
  };
  const resources = ['products', 'availability'] as const;
  requestResync(harness.daemon.sync, { resources: [...resources], product_ids: [product.id], from: null, to: null });
  await harness.live(30 * minute);
  return { before, after: look() };
}

const rows = (harness: VirtualHarness, sql: string, id: number) => harness.rows(sql, { id });

/** Two products that can be bought. */
function selling(harness: VirtualHarness): [SandboxProduct, SandboxProduct] {
  const [one, two] = harness.sandbox.world.visible().filter(({ id }) => rows(harness, soldDates, id).length > 5);
  if (one === undefined || two === undefined) throw new Error('too few products are for sale');
  return [one, two];
}

describe('of an answer', () => {
  it.each(troubles)('$claim', async (trouble) => {
    const { before, after } = await seen(trouble, trouble.lie);
    expect(after).toEqual(before);
  });

  it.each(troubles)('(control) what it says is seen: $claim', async (trouble) => {
    const { before, after } = await seen(trouble, trouble.truth);
    expect(after).not.toEqual(before);
  });
});

/** A daemon with a subscription that covers everything, to which only tests deliver, and a product that is for sale. */
async function covered() {
  const asked: string[] = [];
  const test = await notifiedHarness({ hold_ms: 24 * 60 * minute, served: ({ path }) => asked.push(path) });
  await test.live(30 * minute);
  asked.length = 0;
  const [id = 0] = test.ids();
  return { test, asked, id };
}

async function post({ harness }: NotifiedHarness, body: string): Promise<void> {
  await fetch(harness.sandbox.subscriptions()[0]?.callback_url ?? '', { method: 'POST', body });
}

const usual = (id: number) => JSON.stringify(notificationOf(id, updated()));
const forms: readonly (readonly [string, (id: number) => string, boolean])[] = [
  ['whose ids are texts', (id) => usual(id).replace(`${id}`, `"${id}"`), true],
  ['that begins with a byte order mark', (id) => `\ufeff${usual(id)}`, true],
  ['that is a text within an envelope', (id) => JSON.stringify({ Type: 'Notification', Message: usual(id) }), true],
  ['(control) that names no product as such', (id) => JSON.stringify({ data: { reference: id } }), false],
];

describe('a delivery', () => {
  it.each(forms)('%s has its product read, or not', async (_, form, isRead) => {
    const { test, asked, id } = await covered();
    await using _test = test;
    await post(test, form(id));
    await test.live(2 * minute);
    expect(asked.includes(`/v2/products/${id}`)).toBe(isRead);
  });

  it.each([
    [1, 'that comes three times', [disabled(), disabled(), disabled()]],
    [2, '(control) that comes between others', [disabled(), enabled, disabled()]],
  ] as const)('counts %d closures in the feed of changes: one %s', async (closures, _, sent) => {
    const { test, id } = await covered();
    await using _test = test;
    const { world } = test.harness.sandbox;
    for (const change of sent) {
      if (change === enabled) world.enable(id);
      else world.disable(id, { reason: 'out_of_season' });
      await post(test, JSON.stringify(notificationOf(id, change)));
      await test.live(3 * minute);
    }
    const feed = test.query(`SELECT 1 FROM changes WHERE product_id = ${id} AND kind = 'sale_disabled'`);
    expect([feed.length, test.product(id)?.sellable]).toEqual([closures, 0]);
  });

  it.each([
    ['never', 'comes after a newer one that closed it', false],
    ['again', '(control) is true', true],
  ] as const)('that a product is on sale has it sold %s, where it %s', async (_, __, isTrue) => {
    const { test, id } = await covered();
    await using _test = test;
    const { world } = test.harness.sandbox;
    world.disable(id, { reason: 'out_of_season' });
    await post(test, JSON.stringify(notificationOf(id, disabled())));
    await test.live(minute);
    if (isTrue) world.enable(id);
    await post(test, JSON.stringify(notificationOf(id, enabled)));
    const sold = new Set<unknown>();
    for (let passed = 0; passed < 5 * minute; passed += 10 * second) {
      await test.live(10 * second, 10 * second);
      sold.add(test.product(id)?.sellable);
    }
    expect(sold.has(1)).toBe(isTrue);
  });
});
