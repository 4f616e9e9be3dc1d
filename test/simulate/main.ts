import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { seedsStory } from '../seeds/story.ts';
import { notificationsStory } from './notifications.ts';
import { comparisonStory } from './stories/comparison.ts';
import { demandStory } from './stories/demand.ts';
import { imagesStory } from './stories/images.ts';
import { listsStory } from './stories/lists.ts';
import { monthStory } from './stories/month.ts';
import { ratesStory } from './stories/rates.ts';
import { shoppersStory } from './stories/shoppers.ts';
import { type Asked, type Story, saying } from './stories/story.ts';
import { truthStory } from './stories/truth.ts';
import { worldsStory } from './stories/worlds.ts';

/*
 * `npm run simulate -- --seed 7 | --seeds 1..1000 [--minutes 60] [--days 7] [--workers 2]`: the whole daemon in worlds that are drawn (test/seeds);
 * `--replay FILE`: one of those kept; `--plants all|1,2 [--seeds 1..1000] [--days 7]`: in broken ones, until each fault is found.
 * `npm run simulate -- [--days 30] [--products 2000] [--seed 1] [--faults | --compare [--times 2] | --demand [--times 2] | --lists [--times 2] | --truth [--times 4.3] | --worlds [--quick] | --images | --shoppers | --rates [--quick]]`: the real engine against the sandbox, on a
 * clock that jumps from one minute in which something is due to the next. Exit 0: no promise broken.
 */

const stories: Readonly<Record<string, Story>> = {
  compare: comparisonStory,
  demand: demandStory,
  lists: listsStory,
  images: imagesStory,
  shoppers: shoppersStory,
  rates: ratesStory,
  truth: truthStory,
  worlds: worldsStory,
  notifications: async () => ((await notificationsStory(saying)) ? 0 : 1),
};
const flags = [...Object.keys(stories), 'fixed', 'faults', 'quick'];
const numbers = ['days', 'products', 'seed', 'seeds', 'times', 'minutes', 'replay', 'plant', 'plants', 'workers'];

const { values } = parseArgs({
  options: {
    ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean' as const }])),
    ...Object.fromEntries(numbers.map((name) => [name, { type: 'string' as const }])),
  },
});
// The mirror of a simulated month is thrown away: it need not survive a power cut.
if (existsSync('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';

const asked: Asked = {
  is: (flag) => values[flag] === true,
  number: (name, usual) => Number(values[name] ?? usual),
};
/** Of a month seeds are a number of worlds, or which world: whatever else is said of it says that it is meant. */
const ofSeeds = ['seed', 'seeds', 'minutes', 'replay', 'plant', 'plants', 'workers'];
const isLong = values.plants === undefined && !String(values.seeds ?? '').includes('..');
const isOfSeeds = Object.keys(values).every((name) => ofSeeds.includes(name) || (name === 'days' && !isLong));
const [, story = monthStory] = Object.entries(stories).find(([name]) => asked.is(name)) ?? [];
process.exitCode = isOfSeeds && Object.keys(values).length > 0 ? await seedsStory(values, saying) : await story(asked);
