import { existsSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { anyNumber, commandLine } from '../command-line.ts';
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
 * Either the whole daemon in worlds that are drawn (test/seeds), or the real engine against the sandbox, on a clock that
 * jumps from one minute in which something is due to the next.
 */

const stories: Readonly<Record<string, { tell: Story; what: string }>> = {
  compare: { tell: comparisonStory, what: 'how untrue the mirror is under each way of scheduling' },
  demand: { tell: demandStory, what: 'what is gained by knowing what shoppers look at' },
  lists: { tell: listsStory, what: 'what walks over the list save and cost' },
  images: { tell: imagesStory, what: 'whether an image is ever shown 14 days after it was confirmed' },
  shoppers: { tell: shoppersStory, what: 'what shoppers meet who choose from the mirror' },
  rates: { tell: ratesStory, what: 'what is used of a limit that nobody names (--quick: some sixty cells)' },
  truth: { tell: truthStory, what: 'what random reads say beside the truth' },
  worlds: {
    tell: worldsStory,
    what: 'how much is untrue as shipped, in every world (--quick: where there are targets)',
  },
  notifications: {
    tell: async () => ((await notificationsStory(saying)) ? 0 : 1),
    what: 'the receiver is away, then a subscription sends nothing',
  },
};

function seedsOf(value: string): string {
  if (!/^\d+(\.\.\d+)?$/.test(value)) throw new InvalidArgumentError('Expected a number, or a range such as 1..1000');
  return value;
}

const command = commandLine(
  'npm run simulate --',
  'Lives through days in virtual time: a month beside the simulated service, worlds drawn from seeds, or a story. Exit 0: no promise is broken.',
  {
    '': 'a month of 2,000 products, all promises measured',
    '--days 30 --faults': 'the same with outages and errors',
    '--seed 7': 'a week of the whole daemon in the world of a seed',
    '--seeds 1..1000 --minutes 60': 'as many seeds as an hour takes',
    '--replay FILE': 'a world that was kept',
    '--plants all --seeds 1..1000': 'planted faults, until each is found',
    '--worlds --quick --seeds 5': 'a story',
  },
)
  .option('--seed <n>', 'alone: this world; with others: where their chance begins', anyNumber)
  .option('--seeds <n|a..b>', 'these worlds; of a story how many', seedsOf)
  .option('--minutes <n>', 'seeds: begin none after these', anyNumber)
  .option('--workers <n>', 'seeds: how many processes (one for each core)', anyNumber)
  .option('--twice', 'seeds: each twice: both runs have to leave the same bytes')
  .option('--replay <file>', 'seeds: a plan that was kept')
  .option('--plant <name>', 'seeds: with one planted fault')
  .option('--plants <all|1,2>', 'seeds: in broken worlds, until each of these faults is found')
  .option('--days <n>', 'how many virtual days', anyNumber)
  .option('--products <n>', 'how many products are sold', anyNumber)
  .option('--times <n>', 'how many times the calls that the cadences need', anyNumber)
  .option('--faults', 'a month with outages and errors')
  .option('--fixed', 'a month with fixed cadences')
  .option('--quick', 'a shorter form, where there is one');
for (const [name, { what }] of Object.entries(stories)) command.option(`--${name}`, `story: ${what}`);
const values: Readonly<Record<string, unknown>> = command.parse().opts();
// The mirror of a simulated month is thrown away: it need not survive a power cut.
if (existsSync('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';

const asked: Asked = {
  is: (flag) => values[flag] === true,
  number: (name, usual) => Number(values[name] ?? usual),
};
/** Of a month seeds are a number of worlds, or which world: whatever else is said of it says that it is meant. */
const ofSeeds = ['seed', 'seeds', 'minutes', 'replay', 'plant', 'plants', 'workers', 'twice'];
const isLong = values.plants === undefined && !String(values.seeds ?? '').includes('..');
const isOfSeeds = Object.keys(values).every((name) => ofSeeds.includes(name) || (name === 'days' && !isLong));
const [, { tell } = { tell: monthStory }] = Object.entries(stories).find(([name]) => asked.is(name)) ?? [];
process.exitCode = isOfSeeds && Object.keys(values).length > 0 ? await seedsStory(values, saying) : await tell(asked);
