import { existsSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { anyNumber, commandLine, someNumber, subcommand, wholeNumber } from '../command-line.ts';
import { conditionsWorld } from './conditions.ts';
import { copiesWorld } from './copies/follow.ts';
import { daemons } from './lies/live.ts';
import { liesWorld } from './lies/report.ts';
import { monthWorld } from './month-report.ts';
import { pinnedSeeds, pinnedWorlds } from './pinned.ts';
import type { Plan } from './plan.ts';
import { plants } from './plants/table.ts';
import type { RealTimeAsked } from './real-time/plan-lived.ts';
import { readPlan, type SeedsAsked, seedsWorld } from './seeds.ts';

/*
 * The whole daemon beside the simulated service on a clock that jumps from one thing to do to the next: weeks drawn from
 * seeds, months with every freshness target measured, a copy that follows the feed, and planted failures. In real time the
 * built daemon: a plan of a seed, and ordinary bad days.
 */

const say = (line: string) => void process.stdout.write(`${line}\n`);
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
    throw new InvalidArgumentError(`Expected a plan that was kept: ${(error as Error).message}`);
  }
}

const inRealTime = (flags: string, does: string) =>
  new Option(flags, `in real time: ${does}`).implies({ realTime: true });

const worlds = commandLine(
  'npm run worlds --',
  'Lives in virtual time through what a seed draws: a week of the whole daemon with its faults, until everything must be up to date again. Exit 0: no rule is broken.',
  {
    '--seed 7': 'a week in the world of a seed',
    '--seeds 1..1000 --minutes 60': 'as many seeds as an hour takes; what fails is shrunk and kept',
    '--replay FILE': 'a world that was kept',
    '--plants all': 'seeded bugs, one after another, until each is found',
    '--seed 7 --real-time --minutes 30': 'the built daemon in real time, killed every 30 seconds',
    'month --faults': 'a month of 2,000 products with outages and errors',
    copies: 'a copy follows 10,000 random changes',
    pinned: 'what readers are shown in 300 small worlds, beside what is pinned',
    lies: 'lies of a service and true masses, and both kinds of error',
    'conditions disk-full': 'after how many seconds a planted failure is seen',
    'days --short': 'ordinary bad days of the built daemon in real time',
  },
)
  .option('--seed <n>', 'this world', seedsOf)
  .addOption(new Option('--seeds <n|a..b>', 'these worlds').argParser(seedsOf).conflicts('seed'))
  .option('--minutes <n>', 'begin none after these', anyNumber)
  .option('--days <n>', 'how long a world has faults (7)', someNumber)
  .option('--workers <n>', 'how many processes (one for each core)', someNumber)
  .option('--twice', 'each twice, then on a slow network: both runs must leave the same bytes')
  .addOption(
    new Option('--replay <file>', 'a plan that was kept')
      .argParser(planIn)
      .conflicts(['seed', 'seeds', 'days', 'plants']),
  )
  .addOption(new Option('--plant <name>', 'with one seeded bug').choices(['skips a delivery']))
  .option(
    '--plants <names>',
    `in copies with a seeded bug, until each is found: all, or some of ${plantNames}`,
    plantsOf,
  )
  .addOption(
    new Option(
      '--real-time',
      'the built daemon through the plan of one seed, for 10 minutes unless --minutes says otherwise',
    ).conflicts(['seeds', 'days', 'workers', 'twice', 'replay', 'plant', 'plants']),
  )
  .addOption(inRealTime('--products <n>', 'how many products the service sells (200)').argParser(someNumber))
  .addOption(inRealTime('--kill-every <seconds>', 'how long each run of the daemon lasts (30)').argParser(someNumber))
  .addOption(inRealTime('--plant-price', 'change a stored price before the comparison, which must find it'))
  .enablePositionalOptions()
  .allowExcessArguments()
  .action(async ({ realTime, ...asked }: SeedsAsked & Partial<RealTimeAsked> & { realTime?: true }) => {
    const [unknown] = worlds.args;
    if (unknown !== undefined) worlds.error(`error: unknown command '${unknown}'`);
    if (realTime && asked.seed?.includes('..')) worlds.error('error: real time has one seed');
    // What is imported for real time has the program built.
    const live = realTime ? (await import('./real-time/plan-lived.ts')).livePlan : seedsWorld;
    process.exitCode = await live(asked, say);
  });

const month = subcommand(
  worlds,
  'month',
  'A month of the real engine: how old every record becomes, and what differs at the end. Exit 0: every freshness target is met.',
  {
    '': '30 days of 2,000 products',
    '--faults': 'a fifth of the answers fail, three outages of two days, throttles',
    '--faults --days 48 --products 300 --silent 16': 'and 16 days without an answer: every image goes',
  },
)
  .option('--days <n>', 'how many virtual days', someNumber, 30)
  .option('--products <n>', 'how many products', someNumber, 2000)
  .option('--seed <n>', 'which world', wholeNumber, 1)
  .option('--faults', 'with outages and errors, which end 7.1 days before the end')
  .option('--silent <days>', 'then as many days without any answer', wholeNumber, 0)
  .option('--fixed', 'with fixed cadences')
  .action(async (asked) => {
    if (asked.faults === true && asked.days < 24)
      month.error('error: a month with faults has at least 24 days: three outages of two days, and a week to recover');
    process.exitCode = await monthWorld(asked, say);
  });

subcommand(
  worlds,
  'copies',
  'Follows the change feed through many random changes, by the script of docs/copies.md. Exit 0: the copy never differs.',
  {
    '': '10,000 changes',
    '--changes 500 --without sale_disabled': 'a control: a second copy that passes over this kind must differ',
  },
)
  .option('--changes <n>', 'how many', someNumber, 10_000)
  .option('--seed <n>', 'which', wholeNumber, 1)
  .option(
    '--without <kinds>',
    'also by copies that each pass over one of these kinds, which must differ; with commas between',
  )
  .action(async (asked) => {
    process.exitCode = await copiesWorld(asked, say);
  });

subcommand(
  worlds,
  'lies',
  'Lies of a service and what really happens there, unlabelled, before the real jobs on a virtual clock. Exit 0: no lie is shown beyond its limit, no truth comes late, and both controls fail.',
  { '': 'every case, with both controls', "--only 'no dates' --daemon rule": 'some cases, without the controls' },
)
  .option('--only <words>', 'only cases with these words in their names')
  .addOption(new Option('--daemon <which>', 'with the rule, or one of the controls').choices(daemons))
  .option('--workers <n>', 'how many processes (one for each core)', someNumber)
  .action(async (asked) => {
    process.exitCode = await liesWorld(asked, say);
  });

subcommand(
  worlds,
  'conditions',
  'Prints, for each planted failure, after how many seconds of virtual time status, page, metric and alert are red, and green again.',
  { '': 'all', 'disk-full': 'one', '--healthy 30': 'a month without a failure' },
)
  .argument('[codes...]', 'only failures that show these conditions')
  .option('--healthy <days>', 'live beside a service with its quirks, and print what was shown', someNumber)
  .action(async (codes: string[], { healthy }: { healthy?: number }, command) => {
    const code = await conditionsWorld({ codes, healthy: healthy ?? null }, say);
    if (typeof code === 'string') command.error(`error: ${code}`);
    process.exitCode = code;
  });

subcommand(
  worlds,
  'days',
  'Ordinary bad days of the built daemon in real time, each with a faulty way to the service. Exit 0: every day went as it must, and every control was noticed.',
  {
    '': 'every day, in about 30 minutes',
    '--short': 'a day of each family, in 90 s',
    '--only dns': 'the days with this in their family or name',
  },
)
  .option('--short', 'a day of each family, with short faults')
  .option('--only <word>', 'only the days whose family or name contains it')
  .action(async (asked) => {
    const { liveDays } = await import('./real-time/days.ts');
    process.exitCode = await liveDays(asked, say);
  });

const pinned = subcommand(
  worlds,
  'pinned',
  `Compares all that readers are shown in ${pinnedSeeds} small worlds with test/outside/worlds.json, and names the seeds that differ. Exit 0: none does.`,
  {
    '': 'all of them',
    '--seed 7 --rows /tmp/7.txt': 'one, with its rows in a file: two checkouts are compared by diff',
    '--write': 'pins what is shown now, where a change is meant',
  },
)
  .option('--seed <n>', 'this world alone', someNumber)
  .option('--rows <file>', 'with --seed: write every row that is shown to this file')
  .addOption(new Option('--write', 'write the file instead of comparing with it').conflicts(['seed', 'rows']))
  .option('--workers <n>', 'how many processes (one for each core)', someNumber)
  .action(async (asked) => {
    if (asked.rows !== undefined && asked.seed === undefined) pinned.error('error: --rows needs --seed');
    if ((asked.seed ?? 1) > pinnedSeeds) pinned.error(`error: no seed above ${pinnedSeeds} is pinned`);
    process.exitCode = await pinnedWorlds(asked, say);
  });

// A virtual world is thrown away: it need not survive a power cut. In real time the disk is part of what is tried.
worlds.hook('preAction', (_, command) => {
  const isReal = command.name() === 'days' || command.opts<{ realTime?: true }>().realTime === true;
  if (!isReal && existsSync('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';
});
await worlds.parseAsync();
