import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { live } from './driver.ts';
import { planOf } from './plan.ts';
import { lostLines } from './plants/search.ts';
import { readPlan } from './seeds.ts';
import { shrink } from './shrink.ts';
import { startWorkers } from './workers.ts';

const kept = join(import.meta.dirname, 'kept');
const plans = existsSync(kept) ? readdirSync(kept).map((name) => join(kept, name)) : [];

/** Long ones are for a night: `npm run worlds -- --seeds 1..1000`. */
const short = (seed: number) => {
  const plan = planOf(seed, 1);
  return { ...plan, events: plan.events.filter((_, index) => index < 12) };
};

it.each([1, 3])(
  'a daemon that lives through the plan of seed %i leaves nothing wrong, and twice the same bytes',
  needs('time'),
  async (seed) => {
    const first = await live(short(seed));
    expect(first.failures).toEqual([]);
    if (seed !== 1) return;
    expect((await live(short(seed))).left).toEqual(first.left);
    expect((await live({ ...short(seed), seed: 2 })).left).not.toEqual(first.left);
  },
);

/** Kills, full and low disks, and image files. */
it(
  'a week of seed 42 leaves the same bytes twice, also in another process on a slow network',
  needs('time'),
  async () => {
    using workers = startWorkers(1);
    const [first, second] = await Promise.all([live(planOf(42)), workers.live(planOf(42), { lag: 7 })]);
    expect(first.failures).toEqual([]);
    expect(second.left).toEqual(first.left);
  },
);

it('what a killed process draws until that is noticed changes nothing that the next one draws', async () => {
  const drawn = await Promise.all([drawnAfterKill(0), drawnAfterKill(3)]);
  expect(drawn[1]).toEqual(drawn[0]);
});

async function drawnAfterKill(late: number) {
  let isKilled = false;
  await using harness = await virtualHarness({ products: 1, lean: true }, {}, { killed: () => isKilled });
  isKilled = true;
  for (let draw = 0; draw < late; draw += 1) {
    harness.daemon.sync.entropy(16);
    harness.daemon.sync.chance();
  }
  await harness.restart({
    meanwhile: async () => {
      isKilled = false;
    },
  });
  const { entropy, chance } = harness.daemon.sync;
  return [Buffer.from(entropy(16)).toString('hex'), chance()];
}

it(
  'a daemon that applies every second delivery as if it said nothing is found out (control)',
  needs('time'),
  async () => {
    const { failures } = await live({ ...short(1), events: [] }, { plant: 'skips a delivery' });
    expect(failures).toContainEqual(expect.stringMatching(/^what is announced is seen in minutes: /));
  },
);

it.skipIf(plans.length === 0).each(plans)(
  'the plan that failed once is lived through: %s',
  needs('time'),
  async (path) => {
    const plan = readPlan(path);
    const first = await live(plan);
    expect(first.failures).toEqual([]);
    expect((await live(plan, { lag: 7 })).left).toEqual(first.left);
  },
);

it('the lines that old faults are put back in place of are all there', () => {
  expect(lostLines()).toEqual([]);
  const lost = { file: 'src/kernel/clock.ts', is: 'no line says this', was: '' };
  expect(lostLines({ 0: { what: 'a control', edits: [lost] } })).toEqual(['src/kernel/clock.ts: no line says this']);
});

it('a plan is shrunk to what fails', async () => {
  const plan = planOf(2, 7);
  const wanted = plan.events.filter((_, index) => index % 23 === 5).slice(0, 2);
  expect(wanted).toHaveLength(2);
  const small = await shrink(plan, async ({ events }) => wanted.every((each) => events.includes(each)));
  expect(small.events).toEqual(wanted);
  expect(small.setting).toMatchObject({ quirks: {}, scheduling: 'fixed' });
});
