import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { auditsOf } from '../../src/cycle/audits.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import type { Job } from '../../src/daemon/schedule.ts';
import { lastDrill } from '../../src/files/backup/drill.ts';
import { makeBackup } from '../../src/files/backup/make.ts';
import { readManifest } from '../../src/files/backup/manifest.ts';
import { backupsIn } from '../../src/files/backups.ts';
import { instant } from '../../src/kernel/clock.ts';
import { wallClock } from '../../src/kernel/time/wall-clock.ts';
import { firstColumn } from '../documents.ts';
import { type JobWorld, jobWorld } from '../fakes/job-world.ts';
import { needs } from '../fakes/needs.ts';
import { noteMember } from '../fakes/noted-member.ts';
import { putChanges } from '../fakes/planted.ts';
import { thorough } from '../fakes/thorough.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const noon = instant(Date.parse('2026-11-21T12:00:00Z'));
const never = new AbortController().signal;

/** What a job does that can be seen from outside. */
interface Effect {
  readonly job: string;
  readonly claim: string;
  /** When it is seen, of a list that is made a quarter of a second after noon. */
  readonly at: '12:00:01' | '12:00:05' | '12:00:15' | '12:01:00' | '12:30:00' | '13:00:00';
  /** Gives the job something to do; without it there is something in a world that has just been made. */
  cause?(world: JobWorld): unknown;
  seen(world: JobWorld): boolean;
  /** When it is seen of a mutated job, where that is not as with the others. */
  readonly instead?: Readonly<Record<string, string>>;
}

const listed = ({ sandbox }: JobWorld) => sandbox.calls.counts().by_kind['/v2/products'] ?? 0;
const orphan = ({ images }: JobWorld) => join(images, 'ab', 'cd', `abcd${'0'.repeat(60)}.jpg`);
const anyProduct = ({ ask }: JobWorld) => ask('mirror', 'SELECT min(product_id) FROM products');

const effects: readonly Effect[] = [
  {
    job: 'disk',
    claim: 'low space is told of in the next second',
    at: '12:00:01',
    cause: ({ disk }) => Object.assign(disk, { free_bytes: 1e6 }),
    seen: ({ said }) => said('disk space is low: bulk reads pause') > 0,
  },
  {
    job: 'clock',
    claim: 'the service is asked for the time in the next second when two clocks disagree',
    at: '12:00:01',
    cause: (world) => {
      world.machine.offset_ms = 3 * hour;
      world.sandbox.calls.reset();
    },
    seen: (world) => listed(world) > 0,
  },
  {
    job: 'feed-witness',
    claim: 'the inbox knows within a minute how far the change feed is',
    at: '12:01:00',
    cause: (world) => {
      const change = { product_id: anyProduct(world), kind: 'dates_withheld', detail: {} } as const;
      putChanges(world, [change], { sent_at: noon, reason: 'requested' });
    },
    seen: ({ ask, daemon }) => ask('inbox', 'SELECT feed_newest FROM inbox') === daemon.mirror.changes.newest(),
  },
  {
    job: 'receiver',
    claim: 'the inbox knows to the minute until when deliveries could be received',
    at: '12:01:00',
    seen: ({ ask, start }) => ask('inbox', 'SELECT heartbeat_at FROM inbox') > start,
  },
  {
    job: 'deliveries',
    claim: 'what another instance has received is in the inbox within a second',
    at: '12:00:01',
    cause: ({ others }) => others.receive(noon),
    seen: ({ ask }) => ask('inbox', 'SELECT count(*) FROM delivery') > 0,
  },
  {
    job: 'check-flood',
    claim: 'a minute full of checks is noticed',
    at: '12:01:00',
    cause: ({ drive, daemon }) => {
      const check = async () => ({ kind: 'answer', text: '', hash: '', bytes: 0, sent_at: noon }) as const;
      const checks = Array.from({ length: 45 }, () => daemon.limiter.run(check, never, 'checkout'));
      return drive(Promise.all(checks));
    },
    seen: ({ ask }) => ask('mirror', "SELECT count(*) FROM _outcome WHERE operation = 'live-checks'") > 0,
    // Too few for two minutes; and the checks themselves take most of one.
    instead: { 'half as often': 'never', 'twice as often': '12:00:59' },
  },
  {
    job: 'subscriptions',
    claim: 'a subscription that was not looked at for an hour is asked for within a minute',
    at: '12:01:00',
    cause: ({ sandbox, change }) => {
      change('mirror', `UPDATE _subscription SET checked_at = ${noon - 2 * hour}`);
      sandbox.calls.reset();
    },
    seen: ({ sandbox }) => (sandbox.calls.counts().by_kind['/v2/product-change-notification/all'] ?? 0) > 0,
  },
  {
    job: 'chores',
    claim: 'products whose images were not confirmed for ten days are made due within a minute',
    at: '12:01:00',
    cause: ({ change }) => change('mirror', `UPDATE _product_read SET images_verified_at = ${noon - 12.5 * day}`),
    seen: ({ ask }) =>
      ask('mirror', "SELECT count(*) FROM _record WHERE 'image-limit' IN (due_reason, fetched_reason)") > 0,
  },
  {
    job: 'offers',
    claim: 'a path that was not offered for a week is asked again within a minute',
    at: '12:01:00',
    // It still is not there; else its records would be prepared, and categories with them.
    cause: ({ sandbox, daemon }) => {
      sandbox.faults.add({ kind: 'status', status: 404, path: 'experiences' });
      daemon.mirror.transaction(() =>
        daemon.mirror.schedule.offers.notOffered('experiences', instant(noon - 8 * day), 'path'),
      );
    },
    seen: ({ ask, start }) => ask('mirror', 'SELECT max(asked_at) FROM _offer') > start,
  },
  {
    job: 'categories',
    claim: 'the product that sells best is in its category within an hour',
    at: '13:00:00',
    cause: (world) => {
      const { mirror } = world.daemon;
      mirror.transaction(() =>
        mirror.catalogue.categories.countSale({ product_id: anyProduct(world), sold: 5, sold_at: noon }),
      );
    },
    seen: ({ ask }) => ask('mirror', "SELECT count(*) FROM _product WHERE category = 'top'") > 0,
  },
  {
    job: 'audit',
    claim: 'a record drawn by chance is read in the second of its instant',
    at: '12:00:01',
    cause: async ({ drive, daemon }) => {
      const { sync } = daemon;
      const { chance } = sync;
      // One point, a fifth of a second from now.
      const rolls = [1e-9, 1e-5];
      Object.assign(sync, { chance: () => rolls.shift() ?? 1 - 1e-9 });
      Object.assign(daemon, { audits: auditsOf(sync) });
      await drive(daemon.audits.run(never));
      Object.assign(sync, { chance });
    },
    seen: ({ ask }) => ask('mirror', 'SELECT sum(audited) FROM _audit') > 0,
  },
  {
    job: 'pass',
    claim: 'what becomes due is read in the next second',
    at: '12:00:01',
    cause: (world) => {
      const of = { resources: ['variants'], product_ids: [anyProduct(world)], from: null, to: null } as const;
      requestResync(world.daemon.sync, of);
    },
    seen: ({ ask, start }) => ask('mirror', "SELECT max(fetched_at) FROM _record WHERE resource = 'variants'") > start,
  },
  {
    job: 'pass-end',
    claim: 'what a person changed while the key is refused ends in the change feed in the next second',
    at: '12:00:01',
    cause: (world) => {
      Object.assign(world.daemon.sync.refusals, { keyRefused: () => 'no such key' });
      const change = { product_id: anyProduct(world), kind: 'dates_withheld', detail: {} } as const;
      putChanges(world, [change], { sent_at: noon, reason: 'requested' });
    },
    seen: ({ daemon }) => !daemon.mirror.changes.isPassOpen(),
  },
  {
    job: 'doubts',
    claim: 'after a call that failed another one is made within five seconds',
    at: '12:00:05',
    cause: async ({ sandbox, drive, daemon }) => {
      sandbox.faults.add({ kind: 'html', times: 1 });
      await drive(daemon.probe(never));
      sandbox.calls.reset();
    },
    seen: (world) => listed(world) > 0,
  },
  {
    job: 'outage',
    claim: 'a service that has been away for ten seconds is logged in the next five',
    at: '12:00:15',
    cause: async ({ sandbox, drive, daemon }) => {
      await sandbox.setReachable('no');
      await drive(daemon.probe(never));
    },
    seen: ({ said }) => said('condition began', { condition: 'service-unreachable' }) > 0,
  },
  {
    job: 'snapshot',
    claim: 'a copy that is due is published in the next second',
    at: '12:00:01',
    cause: ({ snapshot }) => rmSync(snapshot, { force: true }),
    seen: ({ snapshot }) => existsSync(snapshot),
  },
  {
    job: 'check-counts',
    claim: 'what was counted of checks is stored in the next second',
    at: '12:00:01',
    cause: (world) => world.daemon.checks.counter.add({ product_id: anyProduct(world), tier: 'near' }, 'right'),
    seen: ({ ask }) => ask('mirror', 'SELECT sum(checks) FROM _check_count') > 0,
  },
  {
    job: 'views',
    claim: 'what shoppers looked at is stored within a minute',
    at: '12:01:00',
    cause: (world) => world.daemon.checks.views.add({ product_id: anyProduct(world), part: 0 }, 3),
    seen: ({ ask }) => ask('mirror', 'SELECT sum(views) FROM _interest') === 3,
  },
  {
    job: 'search-counts',
    claim: 'what was searched for in vain is stored within a minute',
    at: '12:01:00',
    cause: ({ daemon }) => daemon.fruitless.note({ text: 'xyzzy' }, { matched: [] }),
    seen: ({ ask }) => ask('inbox', 'SELECT count(*) FROM fruitless_search') > 0,
  },
  {
    job: 'image-limits',
    claim: 'which image files are wanted is known within a minute',
    at: '12:01:00',
    cause: ({ change }) => change('mirror', 'DELETE FROM _image_file'),
    seen: ({ ask }) => ask('mirror', 'SELECT count(*) FROM _image_file') > 0,
  },
  {
    job: 'image-files',
    claim: 'image files that are due are fetched in the next second',
    at: '12:00:01',
    seen: ({ ask }) => ask('mirror', 'SELECT count(*) FROM _image_file WHERE file IS NOT NULL') > 0,
  },
  {
    job: 'start-check',
    claim: 'a file that was too large for the start is checked within a minute',
    at: '12:01:00',
    seen: ({ said }) => said('file checked', { depth: 'quick' }) > 0,
  },
  {
    job: 'backup',
    claim: 'both files are copied at the hour of backups',
    at: '12:30:00',
    seen: ({ backups }) => backupsIn(backups).some((each) => readManifest(each).why === 'schedule'),
  },
  {
    job: 'restore-drill',
    claim: 'a backup that was never restored on trial is, within an hour',
    at: '13:00:00',
    cause: ({ backups, daemon }) =>
      makeBackup({
        mirror: daemon.config.mirror.path,
        inbox: daemon.config.mirror.inbox_path,
        directory: backups,
        why: 'asked',
        made_by: 'a test',
        now: noon - day,
      }),
    seen: ({ backups }) => lastDrill(backups)?.failure === null,
  },
  {
    job: 'optimise',
    claim: 'the planner has its statistics again after the maintenance',
    at: '12:30:00',
    cause: ({ change }) => change('mirror', 'DROP TABLE sqlite_stat1'),
    seen: ({ ask }) => ask('mirror', "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'") > 0,
  },
  {
    job: 'integrity',
    claim: 'both files are gone through in full by the maintenance',
    at: '12:30:00',
    seen: ({ said }) => said('file checked', { depth: 'full' }) === 2,
  },
  {
    job: 'retention',
    claim: 'a change that is older than it may be is forgotten within an hour',
    at: '13:00:00',
    cause: ({ change }) => change('mirror', 'UPDATE _change SET at = 0 WHERE seq = 1'),
    seen: ({ ask }) => ask('mirror', 'SELECT count(*) FROM _change WHERE at = 0') === 0,
  },
  {
    job: 'image-sweep',
    claim: 'an image file that no row uses is gone within an hour',
    at: '13:00:00',
    cause: (world) => {
      mkdirSync(dirname(orphan(world)), { recursive: true });
      writeFileSync(orphan(world), 'x');
    },
    seen: (world) => !existsSync(orphan(world)),
  },
  {
    job: 'conditions',
    claim: 'that a condition holds is remembered within a minute',
    at: '12:01:00',
    cause: ({ daemon }) => noteMember(daemon.mirror, instant(noon)),
    seen: ({ ask }) => ask('inbox', "SELECT count(*) FROM condition_period WHERE code = 'images-refused'") > 0,
  },
];

type Mutation = (jobs: readonly Job[]) => Job[];

/**
 * The seconds after noon at which jobs tick and somebody looks: also just before an effect is due. At 1500 what the fill found
 * empty half an hour before is read again, a call a second: else that would take the time from 1799 to 1800.
 */
const looks: Readonly<Record<Effect['at'], readonly number[]>> = {
  '12:00:01': [0.5, 0.75, 1, 2, 5],
  '12:00:05': [1, 2, 2.5, 4, 5, 10],
  '12:00:15': [5, 7.5, 10, 12.5, 14, 15, 20],
  '12:01:00': [1, 2, 5, 10, 15, 30, 45, 59, 60, 61, 120],
  '12:30:00': [1, 60, 600, 900, 1200, 1500, 1799, 1800, 1801, 3600],
  '13:00:00': [1, 60, 600, 900, 1200, 1800, 2700, 3599, 3600, 3601],
};

/** Why there is no daemon with one job in two places. */
const twice = 'two jobs have one name';

/** When the effect of a job is seen first in a daemon with such a list; `never`, or why there is no such daemon. */
async function effectIn(effect: Effect, mutated: Mutation = (jobs) => [...jobs]): Promise<string> {
  await using stack = new AsyncDisposableStack();
  try {
    const world = stack.use(
      await jobWorld({ start: noon + second / 4, at: '30 12 * * *', works: [effect.job], mutated }),
    );
    // What runs at the start.
    await world.runDue();
    await effect.cause?.(world);
    if (effect.seen(world)) throw new Error(`${effect.job}: there is nothing to do`);
    for (const seconds of looks[effect.at]) {
      const at = noon + seconds * second;
      if (at <= world.clock.now()) continue;
      await world.until(at);
      await world.runDue();
      if (effect.seen(world)) return new Date(at).toISOString().slice(11, 23).replace('.000', '');
    }
    return 'never';
  } catch (error) {
    if ((error as Error).message !== twice) throw error;
    return twice;
  }
}

function changed(name: string, change: (job: Job) => Job[]): Mutation {
  return (jobs) => jobs.flatMap((job) => (job.name === name ? change(job) : [job]));
}

function every(factor: number): (job: Job) => Job[] {
  const pattern = factor > 1 ? '0 13 * * *' : '15 12 * * *';
  return (job) =>
    'every' in job
      ? [{ ...job, every: job.every * factor }]
      : [{ ...job, at: wallClock({ at: pattern, zone: 'UTC' }) }];
}

/** What is done to one job, and when its effect is seen then. */
const mutations: Readonly<
  Record<string, { readonly change: (job: Job) => Job[]; readonly seen: Readonly<Record<Effect['at'], string>> }>
> = {
  'left out': {
    change: () => [],
    seen: {
      '12:00:01': 'never',
      '12:00:05': 'never',
      '12:00:15': 'never',
      '12:01:00': 'never',
      '12:30:00': 'never',
      '13:00:00': 'never',
    },
  },
  doubled: {
    change: (job) => [job, job],
    seen: {
      '12:00:01': twice,
      '12:00:05': twice,
      '12:00:15': twice,
      '12:01:00': twice,
      '12:30:00': twice,
      '13:00:00': twice,
    },
  },
  'half as often': {
    change: every(2),
    seen: {
      '12:00:01': '12:00:02',
      '12:00:05': '12:00:10',
      '12:00:15': '12:00:20',
      '12:01:00': '12:02:00',
      '12:30:00': '13:00:00',
      '13:00:00': 'never',
    },
  },
  'twice as often': {
    change: every(1 / 2),
    seen: {
      '12:00:01': '12:00:00.500',
      '12:00:05': '12:00:02.500',
      '12:00:15': '12:00:12.500',
      '12:01:00': '12:00:30',
      '12:30:00': '12:15:00',
      '13:00:00': '12:30:00',
    },
  },
};

it('the documents name every job, and no other', () => {
  expect(firstColumn('Jobs').sort()).toEqual(effects.map(({ job }) => job).sort());
});

describe('a daemon with its list of jobs:', () => {
  it('each of them has an effect here, in its place', async () => {
    await using world = await jobWorld({ start: noon, at: '30 12 * * *', works: ['deliveries'] });
    expect(effects.map(({ job }) => job)).toEqual(world.daemon.schedule.list().map(({ name }) => name));
  });

  // Else some of each kind: every second, every minute, every hour, tied to a clock.
  const asked = thorough ? effects : effects.filter((_, index) => index % 3 === 0);

  it.each(asked)('$job: $claim', async (effect) => {
    expect(await effectIn(effect)).toBe(effect.at);
  });
});

describe('a daemon with another list of jobs is noticed by these effects (control):', () => {
  const cases = effects.flatMap((effect) =>
    Object.entries(mutations).map(([mutation, { change, seen }]) => {
      const { job, at, claim } = effect;
      return { effect, mutation, change, job, claim, at, instead: effect.instead?.[mutation] ?? seen[at] };
    }),
  );
  // Each mutation is among them.
  const tried = cases.filter((_, index) => index % (thorough ? 7 : 25) === 0);

  it.each(tried)('$job $mutation: "$claim" fails, $instead for $at', async ({ job, effect, change, instead }) => {
    expect(await effectIn(effect, changed(job, change))).toBe(instead);
  });
});

/** The jobs of one instant in the order in which their effects are seen, each looked for between two jobs. */
async function orderIn(causes: readonly Effect[], mutated: Mutation = (jobs) => [...jobs]): Promise<string[]> {
  await using stack = new AsyncDisposableStack();
  const order: string[] = [];
  let world: JobWorld | null = null;
  const between = () => {
    for (const { job, seen } of world === null ? [] : causes)
      if (world !== null && !order.includes(job) && seen(world)) order.push(job);
  };
  const works = causes.map(({ job }) => job);
  const made = stack.use(await jobWorld({ start: noon + 59 * minute, at: '0 13 * * *', works, mutated, between }));
  await made.runDue();
  for (const { cause } of causes) await cause?.(made);
  await made.until(noon + hour - second / 2);
  const early = causes.filter(({ seen }) => seen(made)).map(({ job }) => job);
  if (early.length > 0) throw new Error(`there is nothing to do for ${early.join(', ')}`);
  await made.until(noon + hour);
  world = made;
  await made.runDue();
  return order;
}

/**
 * All jobs at once, but for those that keep others from their work: nothing is deleted while the clock is in doubt, and nothing
 * is read while the service is away or refuses the key.
 */
const alone: ReadonlySet<string> = new Set(['clock', 'pass-end', 'doubts', 'outage']);
const together = effects.filter(({ job }) => !alone.has(job));
const doubted = effects.filter(({ job }) => ['disk', 'clock', 'feed-witness', 'receiver'].includes(job));

function namesOf(list: readonly Effect[]): string[] {
  return list.map(({ job }) => job);
}

/** A list in which a job and the one after it have changed places. */
function swapped(jobs: readonly Job[], name: string): Job[] {
  const at = jobs.findIndex((job) => job.name === name);
  return jobs.with(at, jobs[at + 1] as Job).with(at + 1, jobs[at] as Job);
}

describe('the jobs of one instant', () => {
  it('begin in the order of the list, also with the clock in doubt', needs('time'), async () => {
    expect(await orderIn(together)).toEqual(namesOf(together));
    expect(await orderIn(doubted)).toEqual(namesOf(doubted));
  });

  // Neighbours of one half have none in common, so that one run shows of each whether it is noticed.
  const halves = [0, 1].map((half) =>
    effects
      .slice(0, -1)
      .map(({ job }, at) => ({ job, next: effects[at + 1]?.job ?? '' }))
      .filter((_, at) => at % 2 === half),
  );

  it.each(halves.map((pairs) => [pairs.length, pairs] as const))(
    'are noticed where each of %i pairs of neighbours has changed places: that test fails (control)',
    needs('time'),
    async (_, pairs) => {
      for (const causes of [together, doubted]) {
        const here = pairs.filter(({ job, next }) => [job, next].every((name) => namesOf(causes).includes(name)));
        const found = await orderIn(causes, (jobs) => here.reduce((list, { job }) => swapped(list, job), [...jobs]));
        const unnoticed = here.filter(({ job, next }) => {
          const [at, after] = [found.indexOf(job), found.indexOf(next)];
          return at >= 0 && after >= 0 && at < after;
        });
        expect(unnoticed).toEqual([]);
        expect(found.length).toBeGreaterThan(namesOf(causes).length / 2);
      }
    },
  );
});

describe('a daemon that starts', () => {
  it.each([
    ['applies what is declared at once', (jobs: readonly Job[]) => [...jobs], true],
    [
      'would be noticed if it waited for the next minute (control)',
      changed('subscriptions', ({ at_start: _, ...job }) => [job as Job]),
      false,
    ],
  ])('%s', async (_, mutated, applied) => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(
      await jobWorld({ start: noon + second / 4, at: '30 12 * * *', works: ['subscriptions'], mutated }),
    );
    stack.use(world.daemon.schedule.start());
    stack.defer(world.stop);
    await world.until(noon + 5 * second);
    expect(world.sandbox.subscriptions().length > 0).toBe(applied);
  });
});
