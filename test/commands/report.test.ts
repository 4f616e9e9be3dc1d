import { readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { partsOf } from '../../src/commands/report/parts.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { reportOrder } from '../../src/desk/orders.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import type { ProductEvent } from '../../src/says/status/turnover.rules.ts';
import type { WeekReport } from '../../src/says/week/report.rules.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;
const hostile = '</td><script>alert(1)</script><img onerror=alert(1)>"\u202e';

async function printed(...args: string[]) {
  const io = capturedIo();
  const code = await main(args, io);
  return { code, out: io.out(), err: io.err() };
}

/** A mirror of two days, so that a report, which asks the machine's clock, is about it; and what has happened meanwhile. */
async function eventfulWeek() {
  const harness = await virtualHarness({ products: 12 }, {}, { start: Date.now() - 2 * day });
  await harness.fill();
  const directory = dirname(dirname(harness.daemon.config.mirror.path));
  const config = writeTestConfig(directory, harness.sandbox.url);
  const run = (...args: string[]) => printed('--config', config, 'report', ...args);
  const json = async (...args: string[]) => JSON.parse((await run('--json', ...args)).out) as WeekReport;
  const quiet = { json: await json(), text: (await run()).out };
  const [closed, dearer, pictured, gone] = harness.sandbox
    .products()
    .filter(({ images, status }) => images.length > 1 && status === 'available');
  if (!closed || !dearer || !pictured || !gone) throw new Error('too few products');
  const image = await happen(harness, { closed, dearer, pictured, gone });
  return { harness, directory, run, json, quiet, closed, dearer, pictured, gone, image };
}

async function happen(harness: VirtualHarness, of: Record<'closed' | 'dearer' | 'pictured' | 'gone', SandboxProduct>) {
  const { sync, mirror, inbox } = harness.daemon;
  Object.assign(of.closed, { status: 'unavailable', reason: 'temporary_closure', title: hostile });
  of.dearer.price *= 2;
  const [image] = of.pictured.images.splice(0, 1);
  // A product off sale has to be said twice.
  for (const _ of ['once', 'twice']) {
    await harness.drive(harness.clock.sleep(hour));
    requestResync(sync, { resources: ['products', 'images'], product_ids: [], from: null, to: null });
    await harness.drive(runSyncCycle(sync, 4, { job_id: null, signal: new AbortController().signal }));
  }
  const by = { sent_at: harness.clock.now(), reason: 'requested' } as const;
  mirror.transaction(() => {
    mirror.changes.add({ product_id: of.gone.id, kind: 'product_withdrawn', detail: { reason: 'gone' } }, by);
  });
  const date = new Date(Date.now() + 20 * day).toISOString().slice(0, 10);
  reportOrder(harness.daemon.sync, {
    product_id: of.dearer.id,
    date,
    quantity: 2,
    outcome: 'confirmed',
    code: null,
  });
  const counts = new Map([
    [`northern ${hostile}`, 5],
    ['four times', 4],
  ]);
  inbox.searches.add(Math.floor(Date.now() / day), counts, 10);
  return image?.name;
}

describe('catalogued report --week', () => {
  let week: Awaited<ReturnType<typeof eventfulWeek>>;
  beforeAll(async () => {
    week = await eventfulWeek();
  });
  afterAll(() => week.harness[Symbol.asyncDispose]());

  it('of a quiet week says that nothing happened, and that what the first fill found is not new', () => {
    const { json, text } = week.quiet;
    expect(json).toMatchObject({
      known_since: week.harness.daemon.mirror.filledAt(),
      products: { added: [], returned: [], withdrawn: [], closed: [], reopened: [] },
      prices: { products: { moved: 0 }, dates: { moved: 0 } },
      images: { must_go: [], went: [] },
      sold_without_subscription: { covers_sales: 0, products: [] },
      checkout: { rate: null },
      fruitless_searches: [],
      // The mirror is younger than that.
      week_before: null,
    });
    expect(text).not.toContain('week before');
    expect(text).toMatch(/what it found is not new/);
    expect(text).toMatch(/Nothing came, went, closed or opened\./);
  });

  it('tells what closed, went, moved, was sold and was searched for, and of another week nothing of it', async () => {
    const { json, run, closed, dearer, pictured, gone, image } = week;
    const report = await json('--week');
    expect(report.products.closed).toMatchObject([
      { product_id: closed.id, title: hostile, reason: 'temporary_closure' },
    ]);
    expect(report.products.withdrawn).toMatchObject([{ product_id: gone.id, reason: 'gone' }]);
    const [move] = report.prices.products.biggest;
    expect(report.prices.products).toMatchObject({ moved: 1, up: 1, down: 0 });
    expect(move).toMatchObject({ product_id: dearer.id, date: null, new: 2 * (move?.old ?? 0) });
    expect(report.images.went).toMatchObject([{ product_id: pictured.id, image_key: image }]);
    expect(report.sold_without_subscription.products).toMatchObject([{ product_id: dearer.id, tickets: 2 }]);
    expect(report.checkout).toMatchObject({ tickets: 2 });
    expect(report.fruitless_searches).toEqual([{ words: `northern ${hostile}`, searches: 5 }]);

    const { out } = await run();
    expect(out).toMatch(/^Prices moved +1 {2}1 up, 0 down/m);
    expect(out).toMatch(new RegExp(`^ *${dearer.id} .*\\+100 %$`, 'm'));
    expect(out).not.toContain('\u202e');
    expect(await json('--week', '2020-W53')).toMatchObject({
      known_since: Date.parse('2021-01-04'),
      products: { closed: [], withdrawn: [] },
      images: { went: [] },
      fruitless_searches: [],
    });
  });

  it('as HTML is one document that loads and runs nothing, with whatever strangers wrote as text', async () => {
    const file = join(week.directory, 'week.html');
    for (const _ of ['new', 'over the one there is'])
      expect(await week.run('--week', '--html', file)).toMatchObject({ code: 0, out: `Written to ${file}.\n` });
    const page = readFileSync(file, 'utf8');
    expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(1);
    expect(page).not.toMatch(/<script|<img|<link|href=|src=|@import|url\(/);
    expect(page).toContain('content="default-src &#39;none&#39;; style-src &#39;sha256-');
    expect(await week.run('--html', week.directory)).toMatchObject({ code: 74 });
    expect(await week.run('--html', file, '--json')).toMatchObject({ code: 64 });
  });

  it('needs no inbox, and says what it does not know without it', async () => {
    const { inbox_path: path } = week.harness.daemon.config.mirror;
    renameSync(path, `${path}.away`);
    const { out, code } = await week.run('--week');
    expect(code).toBe(0);
    expect(out).toMatch(/Not known: the inbox, where they are counted, cannot be read/);
    expect((await week.json()).fruitless_searches).toBeNull();
    renameSync(`${path}.away`, path);
  });

  it('refuses a week that is none, and one that has not begun', async () => {
    const refused = (week: string) => printed('report', '--week', week);
    expect(await refused('2026-W54')).toMatchObject({ code: 64, err: expect.stringMatching(/week of the calendar/) });
    expect(await refused('2999-W01')).toMatchObject({ code: 64, err: expect.stringMatching(/has not begun/) });
  });
});

const at = Date.UTC(2026, 10, 12, 9, 30);
const one = { product_id: 7, title: 'A canal cruise' };
const event: ProductEvent = {
  ...one,
  at,
  kind: 'product_added',
  reason: 'sold_out_for_good',
  expected_reopening: null,
};
const image = { ...one, image_key: 'a1', credit: 'Jo' };
const counts = { checks: 9, wrong: 4, orders: 3, orders_wrong: 2 };
const move = { ...one, date: '2026-12-05', old: 1000, new: 1250 };
const moves = { moved: 1, up: 1, down: 0, by_rate: 0, biggest: [move] };

const report: WeekReport = {
  at,
  week: { name: '2026-W46', from: at - 1, to: at + 1 },
  mirror: 'mirror.db',
  written_by: 'catalogued',
  filled_at: 1,
  known_since: null,
  currency: 'EUR',
  products: { added: [event], returned: [event], withdrawn: [event], closed: [event], reopened: [event] },
  prices: { products: moves, dates: { ...moves, products: 1 } },
  images: {
    must_go: [{ ...one, images: 5, hidden_from: at }],
    went: [{ ...image, last_confirmed_at: null, withdrawn_at: at, cause: 'product', returned_at: null }],
    back: [],
    credit_changes: [{ ...one, image_key: 'a1', old: 'Jo', new: null, at }],
  },
  sold_without_subscription: { covers_sales: 1, products: [{ ...one, tickets: 6, orders: 5 }] },
  truth: null,
  checkout: {
    ...{ ...counts, tickets: 6, said_available: 1, said_sold_out: 2, said_price: 3, unknown: 4, unanswered: 5 },
    rate: 0.5,
    worst: [{ ...one, ...counts }],
  },
  fruitless_searches: [{ words: 'opera', searches: 8 }],
  week_before: null,
};

it('each table of a report has its columns in one order, and the cells belong to their headings', () => {
  const tables = partsOf(report).flatMap((part) => part.tables ?? []);
  const shown = tables.map(({ caption, headings, rows }) => [
    caption,
    rows.map((row) => row.map((cell, index) => `${headings[index]}: ${cell}`).join(', ')).join('\n'),
  ]);
  const product = 'product: 7, title: A canal cruise';
  const when = `${product}, when: 2026-11-12 09:30`;
  const why = `${when}, why: sold out for good`;
  const by = 'was: 10.00 EUR, is: 12.50 EUR, by: +25 %';
  expect(shown).toEqual([
    ['New', when],
    ['Back after having been withdrawn', when],
    ['Withdrawn', why],
    ['Closed', `${why}, opens: not said`],
    ['On sale again', when],
    ['The biggest moves of products', `${product}, ${by}`],
    ['The biggest of dates, one a product', `${product}, date: 2026-12-05, ${by}`],
    [
      'Taken down, and not back',
      `${product}, image: a1, credit: Jo, when: 2026-11-12 09:30, because: product withdrawn`,
    ],
    ['Hidden unless they are confirmed', `${product}, images: 5, hidden from: 2026-11-12 09:30`],
    ['Other credits', `${product}, image: a1, was: Jo, is: none`],
    ['Those that sold most', `${product}, tickets: 6, orders judged: 5`],
    ['Products that were wrong most often', `${product}, orders: 3, wrong orders: 2, checks: 9, wrong checks: 4`],
    ['The most frequent', 'words: opera, searches: 8'],
  ]);
});

it('images that were taken down are counted as in the audit, also those that are back', () => {
  const [gone] = report.images.went;
  if (gone === undefined) throw new Error('no image went');
  const says = (went: number, back: number) =>
    partsOf({
      ...report,
      images: { must_go: [], credit_changes: [], went: Array(went).fill(gone), back: Array(back).fill(gone) },
    }).find(({ title }) => title.startsWith('Images'))?.says;
  expect(says(0, 0)).toEqual(['Taken down: 0.']);
  expect(says(0, 1)).toEqual(['Taken down: 1 (1 back since).']);
  expect(says(2, 1)).toEqual([
    'Taken down: 3 (1 back since).',
    'Remove what is not back from wherever else you have copied it: 2.',
  ]);
});
