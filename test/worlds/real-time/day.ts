import { setTimeout as delay } from 'node:timers/promises';
import { type Condition, type Line, plantPrice, RealWorld } from './real-world.ts';
import type { Day, Family, Tools } from './table-of-days.ts';

/** How the whole table is lived through: everything, or in short. `after`: seconds from the end of a fault to the comparison. */
export const forms = { whole: { products: 40, after: 300 }, short: { products: 6, after: 8 } } as const;
export type Form = keyof typeof forms;

/** What was seen on one day. Seconds. */
export interface Seen {
  readonly exits: readonly (number | string)[];
  readonly receiver: number;
  readonly check: number;
  /** The first line of the day that a person should look at, and the first line of recovery after it. */
  readonly began?: Line | undefined;
  readonly ended?: Line | undefined;
  readonly conditions: readonly Condition[];
  /** After how many seconds no condition of the day held any more; null: one holds still. */
  readonly green: number | null;
  /** The conditions of the day that were seen last. */
  readonly held: readonly string[];
  /** How many values differ, after so many seconds of comparing again, and the first of them. */
  readonly differences: number;
  readonly equal: number;
  readonly first: readonly string[];
}

export interface Lived {
  readonly day: Day;
  readonly lasted: number;
  readonly seen: Seen | null;
  readonly problems: readonly string[];
  /** What was broken on purpose afterwards, and what was reported of it; null: nothing was. */
  readonly control: { readonly what: string; readonly problems: readonly string[] } | null;
}

/** The longest silence of the receiver and of the checks that anybody bears, in seconds; a check has 3 s itself. */
const bearable = { receiver: 10, check: 15 } as const;
/** Within how many seconds of the cause's end no condition of the day may hold any more. */
const greenWithin = 120;
/** A time of today that begins, or a read that meets a stray 503, is known with the next read of near dates: every 5 minutes. */
const equalWithin = 360;
const cadence = { availability: { near: { every: '5m' } } };
/**
 * Conditions of the sandbox's quirks, which hold on any day: its list shifts while it is walked. The last one tells of a quarter of
 * an hour, whatever is now.
 */
const quirks = ['images-refused', 'prices-refused', 'clock-off', 'list-incomplete', 'deliveries-refused'];
/** May come again on any day, as a read meets a stray 503, or misses dates that are rounded to weeks. */
const passing = 'freshness-missed';

/** What is broken on purpose behind the harness's back after the first day of each family. */
const breaks = {
  killed: (world: RealWorld) => world.kill(),
  paused: async (world: RealWorld) => {
    world.signal('SIGSTOP');
    await delay((bearable.check + 2) * 1000);
    world.signal('SIGCONT');
  },
  price: async ({ mirror }: RealWorld) => plantPrice(mirror),
  'nothing happens': async () => delay(1000),
} as const;
const controls: Readonly<Record<Family, keyof typeof breaks>> = {
  away: 'killed',
  status: 'price',
  connection: 'paused',
  portal: 'nothing happens',
  tls: 'price',
  dns: 'killed',
  files: 'killed',
  process: 'paused',
};

/** Lives through one day, from a first fill to the comparison after it. */
export async function live(day: Day, form: Form, tools: Tools, withControl: boolean): Promise<Lived> {
  const lasted = form === 'short' ? (day.short ?? day.lasts) : day.lasts;
  const { certificates } = tools;
  await using world = await RealWorld.start({
    sandbox: { products: forms[form].products, hold_ms: 5000 },
    config: { cadence },
    ...(day.host !== undefined && { host: day.host }),
    ...(day.tls && { tls: { certificate: certificates.good, ca: certificates.ca } }),
  });
  try {
    day.prepare?.(world, tools);
    if (day.first) await day.begin(world, tools);
    world.run();
    if (!day.first) await world.ready(180_000);
    const seen = await spend(world, day, lasted, form, tools);
    const problems = judge(seen, day, lasted, form);
    world.kept = problems.length > 0;
    const control = withControl ? await broken(world, day, form) : null;
    const stopped = await world.stop();
    if (stopped !== 0 && control === null) problems.push(`stopped with ${stopped}`);
    return { day, lasted, seen, problems, control };
  } catch (error) {
    world.kept = true;
    const last = world.lines.slice(-3).map(({ text }) => text);
    const problem = `${error instanceof Error ? error.message : error}; see ${world.directory}; exits ${world.exits.join(' ') || 'none'}; ${last.join(' | ').slice(0, 600)}`;
    return { day, lasted, seen: null, problems: [problem], control: null };
  }
}

async function spend(world: RealWorld, day: Day, lasts: number, form: Form, tools: Tools): Promise<Seen> {
  const { world: service } = world.sandbox;
  const [closed = 0, reopened = 0, edited = 0] = world.ids.slice(-3);
  // What is announced is read within minutes after the day, for which the short form has no time.
  // During a first fill nothing is subscribed yet: what changes then is read with its cadence.
  const changes = form === 'whole' && !day.first;
  if (!day.first) {
    if (changes) service.disable(reopened, { reason: 'temporary_closure' });
    world.watch();
    await delay(form === 'short' ? 2000 : 30_000);
  }
  const { conditions: usual } = await world.status().catch(() => ({ conditions: [] }));
  const before = new Set([...quirks, ...usual.map(({ code }) => code)]);
  const ofTheDay = (conditions: readonly Condition[]) => conditions.filter(({ code }) => !before.has(code));
  const began_at = Date.now();
  world.receiver.start();
  world.check.start();
  if (!day.first) await day.begin(world, tools);
  await delay(lasts * 200);
  if (changes) {
    service.disable(closed, { reason: 'out_of_season', alternative: edited });
    service.enable(reopened);
    service.edit(edited, { field: 'title', value: 'Edited on a bad day' });
  }
  await delay(Math.max(0, began_at + (lasts - 2) * 1000 - Date.now()));
  const { stdout } = await world.command(20_000, 'status', '--json');
  await day.end(world, tools);
  const ended_at = Date.now();
  if (day.first) {
    await world.ready(300_000);
    world.watch();
  }
  const until = ended_at + forms[form].after * 1000;
  let green: number | null = null;
  let held: readonly string[] = [];
  while (Date.now() < until && !(form === 'short' && green !== null)) {
    const now = await world.status().catch(() => null);
    // On a busy machine the status itself may come late: that says nothing of the conditions.
    const found = now === null ? held : ofTheDay(now.conditions).map(({ code }) => code);
    if (found.length > 0 && !(green !== null && found.every((code) => code === passing))) green = null;
    else if (now !== null) green ??= (Date.now() - ended_at) / 1000;
    if (found.length > 0 || green === null) held = found;
    await delay(Math.min(5000, Math.max(0, until - Date.now())));
  }
  const silent = { receiver: world.receiver.seconds(), check: world.check.seconds() };
  const compared_at = Date.now();
  let comparison = await world.compared();
  while (comparison.differences > 0 && Date.now() < compared_at + equalWithin * 1000) {
    await delay(5000);
    comparison = await world.compared();
  }
  const { differences, first } = comparison;
  const equal = (Date.now() - compared_at) / 1000;
  const today = world.lines.filter(
    ({ at, level }) => at >= began_at && at <= ended_at && /warn|error|fatal/.test(level),
  );
  return {
    exits: [...world.exits],
    ...silent,
    // The service breaks a connection now and then on any day: a line about the whole day comes first.
    began: today.find(({ text }) => /^condition began|cannot be reached/.test(text)) ?? today[0],
    ended: world.lines.find(
      ({ at, text }) => at >= ended_at && /^condition ended|answers again|^daemon started/.test(text),
    ),
    // Of one that is killed as it takes too long, nothing is known.
    conditions: stdout === '' ? [] : ofTheDay((JSON.parse(stdout) as { conditions: Condition[] }).conditions),
    green,
    held,
    differences,
    equal,
    first,
  };
}

/** Returns everything that was not as it must be. */
function judge(seen: Seen, day: Day, lasts: number, form: Form): string[] {
  const problems: string[] = [];
  const undocumented = seen.exits.filter((exit) => !day.exits?.includes(Number(exit)));
  if (undocumented.length > 0)
    problems.push(`${undocumented.length} exits of its own: ${[...new Set(undocumented)].join(', ')}`);
  const still = day.still?.(lasts) ?? 0;
  for (const each of ['receiver', 'check'] as const)
    if (seen[each] > bearable[each] + still) problems.push(`no answer of the ${each} for ${seen[each].toFixed(0)} s`);
  const { condition: expected, quiet = false } = day;
  if (expected !== undefined && lasts >= expected.after && !seen.conditions.some(({ code }) => code === expected.code))
    problems.push(`no condition ${expected.code}`);
  // A daemon that may end says nothing while it is down.
  const mayBeDown = day.exits !== undefined && seen.exits.length > 0;
  const whole = form === 'whole';
  const isShown = seen.conditions.some(({ code }) => code !== passing);
  if (whole && !quiet && !mayBeDown && expected === undefined && !isShown) problems.push('no condition');
  if (!quiet && seen.began === undefined) problems.push('no line at its beginning');
  if (whole && !quiet && seen.ended === undefined) problems.push('no line at its end');
  if (whole && seen.green === null) problems.push(`not green: ${seen.held.join(', ') || 'no status'}`);
  if (whole && (seen.green ?? 0) > greenWithin)
    problems.push(`green only after ${seen.green?.toFixed(0)} s: ${seen.held.join(', ') || 'no status'}`);
  if (seen.differences > 0) problems.push(`${seen.differences} differences: ${seen.first[0]}`);
  return problems;
}

/** Breaks something after a day, and returns what is reported of a day on which nothing should have happened. */
async function broken(world: RealWorld, { family, name, begin, end }: Day, form: Form): Promise<Lived['control']> {
  const what = controls[family];
  const [exits, { differences: usual }] = [world.exits.length, await world.compared()];
  world.receiver.start();
  world.check.start();
  await breaks[what](world);
  const silent = { receiver: world.receiver.seconds(), check: world.check.seconds() };
  const seen = { ...silent, exits: world.exits.slice(exits), conditions: [], green: 0, held: [], equal: 0 };
  const { differences, first } = what === 'price' ? await world.compared() : { differences: usual, first: [] };
  // A day of which nothing was heard is one of trouble: the trouble must be missed.
  const asIf: Day = { family, name, lasts: 0, begin, end, ...(what !== 'nothing happens' && { quiet: true }) };
  return { what, problems: judge({ ...seen, differences: differences - usual, first }, asIf, 0, form) };
}
