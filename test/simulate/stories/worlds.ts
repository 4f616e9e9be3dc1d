import { availableParallelism } from 'node:os';
import { table } from '../../../src/commands/terminal/table.ts';
import { policyOf } from '../../../src/daemon/policy.ts';
import { type Catalogue, callsPerDay, planOf } from '../../../src/domain/schedule/plan.ts';
import { duration, number } from '../../../src/format.ts';
import { generateCatalogue } from '../../../src/sandbox/world/catalogue.ts';
import { listCadence } from '../../../src/sync/records/reschedule.ts';
import { testConfig } from '../../fakes/test-config.ts';
import { type Scenario, scenarios } from '../courses.ts';
import { type Decider, deciders, liveInWorlds, type Shipped, type ShippedWorld } from '../worlds.ts';
import { type Asked, percent, progress, say } from './story.ts';

/** The default's calls at 7,500 products, as a multiple of what the promises need. */
const shipped = 4.3;
const extents = [
  { name: 'minimum', of: 1 },
  { name: 'default', of: shipped },
  { name: '2 ×', of: 2 * shipped },
] as const;

/** What may be untrue as shipped, at 7,500 products. */
const targets: Partial<Record<Scenario, Partial<Record<Decider, number>>>> = {
  'steady, σ 1.5': { 'told orders': 0.015, 'told checks and views': 0.016, 'told nothing': 0.021 },
  'steady, σ 2': { 'told orders': 0.025, 'told checks and views': 0.027, 'told nothing': 0.034 },
};
/** Hours: nothing may be older. */
const promise = 6;

/**
 * How much is untrue as shipped, in every world, and what a day costs at each size of catalogue. `--products` is 7,500 and
 * `--seeds` 5 unless given: over an hour on two quiet cores. `--quick`: only the worlds and the extent that have targets.
 */
export async function worldsStory(asked: Asked): Promise<number> {
  const [products, seeds] = [asked.number('products', 7500), asked.number('seeds', 5)];
  say(`${callsTable()}\n\n`);
  const quick = asked.is('quick');
  const lines = scenarios
    .filter((scenario) => !quick || targets[scenario] !== undefined)
    .flatMap((scenario) => extents.map((extent) => ({ scenario, ...extent })))
    .filter(({ name }) => !quick || name === 'default');
  const worlds = lines.flatMap(({ scenario, of: times }) =>
    Array.from({ length: seeds }, (_, seed) =>
      deciders.map((decider): ShippedWorld => ({ scenario, times, decider, products, seed: seed + 1 })),
    ).flat(),
  );
  say(`Sales-weighted staleness of availability: ${number(products)} products, sales Zipf 0.9, nothing older than ${promise} h;
days 15 to 28, ${seeds} seeds; calls as multiples of what the promises need: 1, ${shipped}, ${2 * shipped}.\n\n`);
  const began = performance.now();
  let done = 0;
  const lived = await liveInWorlds(worlds, availableParallelism(), () => {
    done += 1;
    progress(`${done} of ${worlds.length} lives`);
  });
  const rows = lines.map(({ scenario, name, of }) =>
    rowOf(
      scenario,
      name,
      lived.filter((each) => each.scenario === scenario && each.times === of),
    ),
  );
  const head = ['world', 'calls', ...deciders, 'told the weights / optimum', 'worst seed', 'oldest', 'target', 'met'];
  say(
    `${table(
      head,
      rows.map(({ cells }) => cells),
    )}\n\n`,
  );
  say(`${number(worlds.length)} lives in ${duration(performance.now() - began)}\n`);
  return rows.every(({ met }) => met) ? 0 : 1;
}

function rowOf(scenario: Scenario, name: string, of: readonly Shipped[]): { met: boolean; cells: string[] } {
  const by = (decider: Decider) => of.filter((each) => each.decider === decider);
  const stale = (decider: Decider) => by(decider).reduce((sum, each) => sum + each.stale, 0) / by(decider).length;
  const ratios = by('told the weights').map((ours) => {
    const best = by('optimum').find(({ seed }) => seed === ours.seed);
    return ours.stale / (best?.stale ?? Number.NaN);
  });
  const ours = of.filter(({ decider }) => decider !== 'fixed' && decider !== 'optimum');
  const oldest = Math.max(...ours.map((each) => each.oldest));
  const wanted = name === 'default' ? Object.entries(targets[scenario] ?? {}) : [];
  const met = oldest <= promise && wanted.every(([decider, most]) => stale(decider as Decider) <= most);
  const target = wanted.map(([decider, most]) => `${decider} ≤ ${percent(most)}`).join(', ');
  const ratio = (ratios.reduce((sum, each) => sum + each, 0) / ratios.length).toFixed(3);
  const cells = [...deciders.map((decider) => percent(stale(decider))), ratio, Math.max(...ratios).toFixed(3)];
  return {
    met,
    cells: [scenario, name, ...cells, `${oldest.toFixed(2)} h`, target || `${promise} h`, met ? 'yes' : 'no'],
  };
}

/** Calls a day of the configuration as shipped, by the size of the sandbox's catalogue. */
function callsTable(): string {
  const policy = policyOf(
    testConfig('/nowhere', 'http://127.0.0.1:1', { budget: { share: 0.25, times: 5, audit: 0.01 } }).config,
    () => true,
  );
  const { extent, cadence, adaptive } = policy;
  const of = (products: number): Catalogue => {
    const catalogue = generateCatalogue(1, products);
    const on_sale = catalogue.filter(({ status }) => status === 'available').length;
    const dynamic = catalogue.filter((product) => product.dynamic).length;
    const group = { on_sale, off_sale: products - on_sale, dynamic, covered: 0, covered_dynamic: 0 };
    return {
      groups: [{ ...group, windows: extent.windows, cadence }],
      experiences: new Set(catalogue.flatMap(({ experience_ids }) => experience_ids)).size,
      languages: extent.languages.length,
      currencies: extent.currencies.length,
      page_size: policy.pageSize,
      resources: extent.resources,
      walks: { ...cadence, products: listCadence(cadence) },
      extra:
        adaptive === null
          ? null
          : { ...adaptive.limits, rate: policy.ceiling * 86_400, most: Number.POSITIVE_INFINITY },
      look: 86_400_000,
      audit: policy.audit,
    };
  };
  const rows = [50, 300, 1_000, 7_500, 100_000].map((products) => {
    const catalogue = of(products);
    const needed = callsPerDay(planOf({ ...catalogue, extra: null, audit: 0 }));
    const all = callsPerDay(planOf(catalogue));
    const ceiling = policy.ceiling * 86_400;
    return [products, needed, all]
      .map((each) => number(Math.round(each)))
      .concat(`${((100 * all) / ceiling).toFixed(1)} %`, `${(all / needed).toFixed(1)} ×`);
  });
  return table(
    ['products', 'calls a day, the promises alone', 'as shipped', 'of the ceiling', 'beside the promises'],
    rows,
  );
}
