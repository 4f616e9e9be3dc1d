import { existsSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { anyNumber, commandLine, someNumber, wholeNumber } from '../command-line.ts';
import type { Plan } from '../seeds/plan.ts';
import { plants } from '../seeds/plants/table.ts';
import { readPlan, seedsStory } from '../seeds/story.ts';
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

const plantNames = Object.keys(plants);

function seedsOf(value: string): string {
  const [, from = '', to = from] = /^([1-9]\d{0,8})(?:\.\.([1-9]\d{0,8}))?$/.exec(value) ?? [];
  if (from === '' || Number(to) < Number(from))
    throw new InvalidArgumentError('Expected a number from 1, or a range such as 1..1000');
  return value;
}

function plantsOf(value: string): string {
  const unknown = value === 'all' ? [] : value.split(',').filter((each) => !plantNames.includes(each));
  if (unknown.length > 0) throw new InvalidArgumentError(`Expected all, or some of ${plantNames.join(',')}`);
  return value;
}

function planIn(path: string): Plan {
  try {
    return readPlan(path);
  } catch (error) {
    throw new InvalidArgumentError(`It is no plan that was kept: ${(error as Error).message}`);
  }
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
  .option('--seed <n>', 'alone: this world; with others: where their chance begins', wholeNumber)
  .option('--seeds <n|a..b>', 'these worlds; of a story how many', seedsOf)
  .option('--minutes <n>', 'seeds: begin none after these', anyNumber)
  .option('--workers <n>', 'seeds: how many processes (one for each core)', someNumber)
  .option('--twice', 'seeds: each twice, then on a slow network: both runs have to leave the same bytes')
  .addOption(
    new Option('--replay <file>', 'seeds: a plan that was kept')
      .argParser(planIn)
      .conflicts(['seed', 'seeds', 'plants']),
  )
  .addOption(new Option('--plant <name>', 'seeds: with one planted fault').choices(['skips a delivery']))
  .option('--plants <names>', `seeds: in broken worlds, until each is found: all, or some of ${plantNames}`, plantsOf)
  .option('--days <n>', 'how many virtual days', anyNumber)
  .option('--products <n>', 'how many products are sold', someNumber)
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
const onlyOfSeeds = ['minutes', 'workers', 'twice', 'replay', 'plant', 'plants'];
const isLong = values.plants === undefined && !String(values.seeds ?? '').includes('..');
const isOfSeeds = Object.keys(values).every((name) => ofSeeds.includes(name) || (name === 'days' && !isLong));
const [, { tell } = { tell: monthStory }] = Object.entries(stories).find(([name]) => asked.is(name)) ?? [];
const [misplaced] = isOfSeeds ? [] : onlyOfSeeds.filter((name) => values[name] !== undefined);
if (misplaced !== undefined) command.error(`error: --${misplaced} is of seeds, and does not go with the other options`);
if (!isOfSeeds && String(values.seeds ?? '').includes('..'))
  command.error('error: of a story --seeds is how many, such as 5');
if (asked.is('faults') && asked.number('days', 30) < 24)
  command.error('error: a month with faults has at least 24 days: outages on three of them, and a week to recover');
process.exitCode = isOfSeeds && Object.keys(values).length > 0 ? await seedsStory(values, saying) : await tell(asked);
