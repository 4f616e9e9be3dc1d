import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { table } from '../../src/commands/terminal/table.ts';
import { duration, number } from '../../src/format.ts';
import { type Compared, compareAll } from './compare.ts';
import { scenarios } from './courses.ts';
import { learnAll, tellings } from './demand.ts';
import { imageStory } from './images.ts';
import { liveMonth, type Month, type MonthOptions } from './month.ts';
import { notificationsStory } from './notifications.ts';
import { allCells, legend, quickCells, head as rateHead } from './rates/table.ts';
import { rateLines } from './rates/threads.ts';
import { type ShopperMonth, shopperMonths } from './shoppers.ts';
import { compareLists, listWorlds } from './signals.ts';
import { measuredWorlds } from './truth.ts';

/*
 * `npm run simulate -- [--days 30] [--products 2000] [--seed 1] [--faults | --compare [--times 2] | --demand [--times 2] | --lists [--times 2] | --truth [--times 4.3] | --images | --shoppers | --rates [--quick]]`: the real engine against the sandbox, on a
 * clock that jumps from one minute in which something is due to the next. Exit 0: no promise broken.
 */

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '30' },
    products: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    fixed: { type: 'boolean', default: false },
    faults: { type: 'boolean', default: false },
    compare: { type: 'boolean', default: false },
    demand: { type: 'boolean', default: false },
    lists: { type: 'boolean', default: false },
    times: { type: 'string', default: '2' },
    notifications: { type: 'boolean', default: false },
    images: { type: 'boolean', default: false },
    shoppers: { type: 'boolean', default: false },
    truth: { type: 'boolean', default: false },
    rates: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '5' },
  },
});
// The mirror of a simulated month is thrown away: it need not survive a power cut.
if (existsSync('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';

const say = (text: string) => process.stdout.write(text);
const saying = (line: string) => void say(`${line}\n`);

async function main(): Promise<number> {
  if (values.compare) return comparison();
  if (values.demand) return demand();
  if (values.lists) return lists();
  if (values.images) return images();
  if (values.shoppers) return shoppers();
  if (values.rates) return rates();
  if (values.truth) return truth();
  if (values.notifications) return (await notificationsStory(saying)) ? 0 : 1;
  await using stack = new AsyncDisposableStack();
  const month = await liveMonth(
    {
      days: Number(values.days),
      products: Number(values.products),
      seed: Number(values.seed),
      scheduling: values.fixed ? 'fixed' : 'adaptive',
      ...(values.faults ? badMonth(Number(values.days)) : { quiet_from: Number(values.days) - 1 }),
      progress,
    },
    stack,
  );
  print(month, Number(values.days));
  const late = month.ages
    .filter(({ tier }) => !values.faults || tier === 'images')
    .filter(({ worst_ms, promise_ms }) => worst_ms > promise_ms + 60_000);
  const broken = values.faults ? 0 : Object.keys(month.broken).length;
  return late.length + broken + month.differences === 0 ? 0 : 1;
}

/**
 * A fifth of the answers fail, the service is away for two days three times, and throttles at half of our ceiling. All
 * of it ends 7.1 days before the end: one cadence later the mirror must equal the service.
 */
function badMonth(days: number): Pick<MonthOptions, 'quiet_from' | 'sandbox' | 'config' | 'hourly'> {
  const quiet_from = days - 7.1;
  const outages = [4, 10, 17].map((day) => Math.min(day, quiet_from - 3));
  return {
    quiet_from,
    sandbox: { fault_share: 0.2, throttle: { per_second: 5 } },
    config: { budget: { requests_per_second: 10, concurrency: 4, share: 0.25 } },
    hourly: async ({ sandbox }, hour) => {
      const day = hour / 24;
      if (day >= quiet_from) sandbox.setFaultShare(0);
      await sandbox.setReachable(outages.some((from) => from <= day && day < from + 2) ? 'no' : 'yes');
    },
  };
}

/** What shoppers met who chose from the mirror. `--products` is 200 unless given, and 500 shoppers come a day. */
async function shoppers(): Promise<number> {
  const months = await shopperMonths(
    {
      days: Number(values.days),
      products: given('products', 200, values.products),
      seed: Number(values.seed),
      per_day: 500,
    },
    availableParallelism(),
    ({ scheduling, check, seconds }) => progress(`${scheduling}, check ${check} the order: ${seconds.toFixed(0)} s`),
  );
  const share = (part: number, of: number) => (of === 0 ? 'none' : percent(part / of));
  const rows = months.map((month) => [
    month.scheduling,
    month.check,
    number(month.chose),
    share(month.shown_wrong, month.chose),
    share(month.counted.wrong, month.counted.asked),
    number(month.turned_away),
    number(month.unknown),
    number(month.orders),
    share(month.refused, month.orders),
    number(month.calls),
  ]);
  const head = [
    'cadences',
    'check',
    'chose',
    'shown wrong',
    'counted by the mirror',
    'turned away',
    'unknown',
    'orders',
    'refused',
    'calls',
  ];
  say(`\n${table(head, rows)}\n\n`);
  const misjudged = months.reduce((sum, month) => sum + month.misjudged, 0);
  say(`${number(misjudged)} verdicts that the service contradicted at that instant\n`);
  // Where a product closed within a minute of its own read a check cannot tell (`sale-contradicted`), which counts neither
  // way and orders nothing. All else that was shown wrong is counted.
  const met = (month: ShopperMonth) =>
    month.counted.wrong + month.unknown === month.shown_wrong &&
    (month.check === 'never' ? month.shown_wrong > 0 : month.refused === 0);
  return misjudged === 0 && months.every(met) ? 0 : 1;
}

/** What of a service's limit is used, by our rule and by the one before it. `--quick`: some sixty cells; `--seeds` is 3, from `--seed` on. */
async function rates(): Promise<number> {
  const cells = values.quick ? quickCells() : allCells();
  const seeds = Array.from({ length: given('seeds', 3, values.seeds) }, (_, index) => Number(values.seed) + index);
  say(`${legend.join('\n')}\n${number(cells.length)} cells, seeds ${seeds.join(', ')}\n\n${rateHead}\n`);
  const lines = await rateLines(cells, seeds, availableParallelism(), ({ line }) => saying(line));
  const missed = lines.filter((line) => line.missed).length;
  const old = lines.filter(({ old_missed }) => old_missed).length;
  say(
    `\n${number(cells.length)} cells, ${number(missed)} missed; by the old rule ${number(old)} use too little (control)\n`,
  );
  return missed === 0 && old > 0 ? 0 : 1;
}

const given = (name: string, usual: number, value: string) =>
  process.argv.includes(`--${name}`) ? Number(value) : usual;

/** The fourteen days, asked at every minute by a reader's own clock. `--days` is 40 and `--products` 300, unless given. */
async function images(): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const story = await imageStory(
    {
      days: given('days', 40, values.days),
      products: given('products', 300, values.products),
      seed: Number(values.seed),
      silent_days: 16,
      // Fewer looks at dates than usual: they are not what is asked here, and a look at the view is made each minute.
      config: { scheduling: 'fixed', cadence: { availability: { near: { every: '24h' }, middle: { every: '24h' } } } },
      progress,
    },
    stack,
  );
  const limit = 14 * 86_400_000;
  const rows = story.lines.map(({ what, minutes, oldest_ms, shown_least, shown_most }) => [
    what,
    number(minutes),
    exactly(oldest_ms),
    number(shown_least),
    number(shown_most),
  ]);
  say(`\n${table(['', 'minutes asked', 'oldest image visible', 'least shown', 'most shown'], rows)}\n\n`);
  say(`without the limit in the view the oldest would be ${exactly(story.unlimited_ms)} (control)\n`);
  say(
    `${number(story.changes)} changes of images and credits at the service, ${number(story.takedowns)} takedowns; ${number(story.compared)} images compared with the service's own record of its newest answers: ${number(story.differing)} differ (control: ${number(story.behind)} differ from what the service has by then and no answer has told)\n`,
  );
  say(`${story.seconds.toFixed(0)} s of real time\n`);
  const kept = story.lines.every(({ oldest_ms }) => oldest_ms < limit) && story.unlimited_ms >= limit;
  return kept && story.differing === 0 && story.lines.at(-1)?.shown_least === 0 ? 0 : 1;
}

/** What random reads say beside the truth, a week of each world: at 7,500 products within 0.3 points in 9 of 10 of them. */
async function truth(): Promise<number> {
  const products = given('products', 7500, values.products);
  const seeds = given('seeds', 2, values.seeds);
  const worlds = await measuredWorlds(
    seeds,
    { products, times: given('times', 4.3, values.times) },
    availableParallelism(),
    ({ scenario, seed }) => progress(`${scenario}, seed ${seed}`),
  );
  const off = ({ share, truth: untrue }: (typeof worlds)[number]) => Math.abs((share ?? 1) - untrue);
  const rows = worlds.map((world) => [
    world.scenario,
    String(world.seed),
    percent(world.truth),
    world.share === null ? 'cannot tell' : percent(world.share),
    world.margin === null ? '-' : `± ${percent(world.margin)}`,
    number(world.audited),
    `${(100 * off(world)).toFixed(2)} points`,
  ]);
  say(`${table(['world', 'seed', 'untrue', 'measured', 'margin', 'random reads', 'off by'], rows)}\n\n`);
  const near = worlds.filter((world) => off(world) <= 0.003).length;
  const covered = worlds.filter((world) => off(world) <= (world.margin ?? 0)).length;
  const told = worlds.filter(({ share }) => share !== null).length;
  say(
    `${near} of ${worlds.length} worlds within 0.3 points; the margin covers ${covered} of ${told} that could tell\n`,
  );
  return covered >= 0.9 * told && (products < 7500 || near >= 0.9 * worlds.length) ? 0 : 1;
}

async function comparison(): Promise<number> {
  say(`Sales-weighted staleness of availability: the share of shoppers' time in which something shown was no longer true.
${number(Number(values.products))} products, sales Zipf 0.9, nothing older than 6 h, ${values.times} times the calls that needs; days 15 to 28, ${values.seeds} seeds.\n\n`);
  let done = 0;
  const all = scenarios.length * Number(values.seeds);
  const results = await compareAll(
    Number(values.seeds),
    { products: Number(values.products), times: Number(values.times) },
    availableParallelism(),
    () => {
      done += 1;
      progress(`${done} of ${all} worlds`);
    },
  );
  const rows = scenarios.map((scenario) => {
    const of = results.filter((each) => each.scenario === scenario);
    const mean = (value: (each: Compared) => number) => of.reduce((sum, each) => sum + value(each), 0) / of.length;
    const ratio = mean(({ adaptive, oracle }) => adaptive.stale / oracle.stale);
    const target = scenario.startsWith('steady') ? 1.05 : 1.15;
    const share = mean(({ adaptive, fixed }) => adaptive.stale / fixed.stale);
    return {
      met: ratio <= target && share <= 0.6 && of.every(({ adaptive }) => adaptive.oldest <= 6),
      cells: [
        scenario,
        percent(mean(({ fixed }) => fixed.stale)),
        percent(mean(({ adaptive }) => adaptive.stale)),
        percent(mean(({ oracle }) => oracle.stale)),
        `${ratio.toFixed(3)} (at most ${target})`,
        Math.max(...of.map(({ adaptive, oracle }) => adaptive.stale / oracle.stale)).toFixed(3),
        `${share.toFixed(3)} (at most 0.6)`,
        `${(100 * (mean(({ adaptive, fixed }) => adaptive.calls / fixed.calls) - 1)).toFixed(2)} %`,
        `${Math.max(...of.map(({ adaptive }) => adaptive.oldest)).toFixed(2)} h`,
      ],
    };
  });
  const head = [
    'world',
    'fixed',
    'adaptive',
    'oracle',
    'adaptive / oracle',
    'worst seed',
    'adaptive / fixed',
    'calls, adaptive over fixed',
    'oldest',
  ];
  say(
    `${table(
      head,
      rows.map(({ cells }) => cells),
    )}\n`,
  );
  return rows.every(({ met }) => met) ? 0 : 1;
}

/** What is gained by knowing what shoppers look at. `--products` is 1,000 and `--seeds` 3, unless given. */
async function demand(): Promise<number> {
  const [products, seeds] = [given('products', 1000, values.products), given('seeds', 3, values.seeds)];
  say(`Sales-weighted staleness by what a scheduler is told of sales, at equal calls: ${number(products)} products, nothing older than 6 h,
${values.times} times the calls that needs; days 15 to 28, ${seeds} seeds. Behind it, beside what is told nothing.\n\n`);
  let done = 0;
  const results = await learnAll(seeds, { products, times: Number(values.times) }, availableParallelism(), () => {
    done += 1;
    progress(`${done} of ${4 * seeds} worlds`);
  });
  const columns = (['uneven', 'alike'] as const).flatMap((sales) =>
    (['steady, σ 1.5', 'steady, σ 2'] as const).map((scenario) => ({ sales, scenario })),
  );
  const staleOf = (telling: string, { sales, scenario }: (typeof columns)[number]) => {
    const of = results.filter((one) => one.telling === telling && one.sales === sales && one.scenario === scenario);
    return of.reduce((sum, { stale }) => sum + stale, 0) / of.length;
  };
  const rows = Object.keys(tellings).map((telling) => [
    telling,
    ...columns.map((column) => {
      const stale = staleOf(telling, column);
      return `${percent(stale)}  ${(stale / staleOf('nothing', column)).toFixed(2)}`;
    }),
  ]);
  say(`${table(['told', ...columns.map(({ sales, scenario }) => `sales ${sales}, ${scenario.slice(8)}`)], rows)}\n\n`);
  const calls = results.map((each) => each.calls);
  say(`between ${number(Math.min(...calls))} and ${number(Math.max(...calls))} calls\n`);
  const gain = (column: (typeof columns)[number]) =>
    staleOf('a view a product a day', column) / staleOf('nothing', column);
  return columns.every((column) => gain(column) <= (column.sales === 'uneven' ? 0.73 : 1.02)) ? 0 : 1;
}

/** What the walks over the list save where it shows some of the changes, and cost where it shows none. `--products` is 1000 unless given. */
async function lists(): Promise<number> {
  const products = given('products', 1000, values.products);
  say(`Sales-weighted staleness of availability at equal calls, the walks among them; rates steady, σ 1.5.
${number(products)} products, ${values.times} times the calls that 6 h need; days 8 to 21, ${values.seeds} seeds.\n\n`);
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => Number(values.seed) + index);
  const extent = { products, times: Number(values.times) };
  const results = await compareLists(seeds, extent, availableParallelism(), ({ world, seed }) =>
    progress(`${world.name}, seed ${seed}`),
  );
  const rows = listWorlds.map((world) => {
    const of = results.filter((each) => each.world.name === world.name);
    const mean = (value: (each: (typeof of)[number]) => number) =>
      of.reduce((sum, each) => sum + value(each), 0) / of.length;
    const beside = mean(({ watching, blind }) => watching / blind);
    const ratio = mean(({ watching, optimum }) => watching / optimum);
    const met = world.recall === 0 ? beside <= 1.01 : ratio <= (world.recall >= 0.6 ? 0.75 : 1);
    return {
      met,
      cells: [
        world.name,
        percent(mean(({ optimum }) => optimum)),
        percent(mean(({ blind }) => blind)),
        percent(mean(({ watching }) => watching)),
        ratio.toFixed(3),
        beside.toFixed(3),
        `${(100 * (mean(({ calls }) => calls.watching / calls.optimum) - 1)).toFixed(1)} %`,
        mean(({ walks_a_day }) => walks_a_day).toFixed(0),
        mean(({ precision }) => precision).toFixed(2),
        mean(({ recall }) => recall).toFixed(2),
        met ? 'yes' : 'no',
      ],
    };
  });
  const head = ['world', 'optimum without the list', 'without', 'with', 'with / optimum', 'with / without'];
  const learned = ['calls, with over optimum', 'walks a day', 'precision', 'recall', 'met'];
  say(
    `${table(
      [...head, ...learned],
      rows.map(({ cells }) => cells),
    )}\n`,
  );
  return rows.every(({ met }) => met) ? 0 : 1;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`);
}

function print({ ages, calls, predicted, fill, broken, feed, seconds, differences, first }: Month, days: number): void {
  const rows = ages.map(({ tier, promise_ms, records, reads, worst_ms, stale_share }) => [
    tier,
    duration(promise_ms),
    number(records),
    hours(worst_ms),
    `${(100 * stale_share).toFixed(3)} %`,
    number(reads),
  ]);
  say(`\n${table(['resource, tier', 'promise', 'products', 'worst age', 'time stale', 'reads'], rows)}\n\n`);
  const off = (100 * (calls - predicted)) / predicted;
  say(
    `${number(calls)} calls in ${days} days after a fill of ${number(fill)}; plan predicted ${number(Math.round(predicted))} (${off >= 0 ? '+' : ''}${off.toFixed(1)} %)\n`,
  );
  say(
    `change feed: ${number(feed.lines)} lines and ${number(feed.bytes)} bytes on the day that told most (at most 60,000 and 15 MB at 7,500 products)\n`,
  );
  const hoursBroken = Object.entries(broken).map(([name, count]) => `${name}, ${count} times`);
  say(
    `view freshness, asked every eleven hours: ${hoursBroken.length === 0 ? 'every promise kept' : `broken: ${hoursBroken.join('; ')}`}\n`,
  );
  say(
    `${number(differences)} differences between the mirror and the service at the end\n${first.map((line) => `  ${line}\n`).join('')}`,
  );
  say(`${seconds.toFixed(0)} s of real time\n`);
}

/** 13 d 23 h 59 min, never rounded up. */
function exactly(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return `${Math.floor(minutes / 1440)} d ${Math.floor(minutes / 60) % 24} h ${minutes % 60} min`;
}

function hours(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${(minutes / 1440).toFixed(2)} d`;
}

process.exitCode = await main();
