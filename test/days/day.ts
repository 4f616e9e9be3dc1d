import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Day, Family, Tools } from './days.ts';
import { type Condition, type Line, World } from './world.ts';

/** How a day, or the whole table, is lived through. Seconds. */
export interface Form {
  readonly products: number;
  /** From the end of a fault to the comparison. */
  readonly after: number;
  readonly short: boolean;
}

/** What was seen on one day. Seconds. */
export interface Seen {
  readonly exits: readonly (number | string)[];
  readonly receiver: number;
  readonly check: number;
  /** The first line of the day that a person should look at, and the last line of recovery after it. */
  readonly began: Line | null;
  readonly ended: Line | null;
  readonly conditions: readonly Condition[];
  /** After how many seconds no condition of the day held any more; null: one holds still. */
  readonly green: number | null;
  /** The conditions that were seen last, besides those of any day. */
  readonly held: readonly string[];
  readonly differences: number;
  /** Those for which `explain` names no reason. */
  readonly unexplained: number;
  /** Each difference that was looked into, with what `explain` says of its product. */
  readonly reasons: readonly string[];
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

/** Conditions of the sandbox's quirks, which hold on any day. */
const quirks = ['images-refused', 'prices-refused', 'clock-off'];
/** It tells of the last quarter of an hour, whatever is now. */
const remembering = 'deliveries-refused';

/** What is broken on purpose after the first day of each family. */
const controls: Readonly<Record<Family, Control>> = {
  away: 'killed',
  status: 'price',
  connection: 'paused',
  portal: 'nothing happens',
  tls: 'price',
  dns: 'killed',
  files: 'killed',
  process: 'paused',
};

type Control = keyof typeof breaks;

/** Each breaks something behind the harness's back. */
const breaks = {
  killed: async (world: World) => {
    world.signal('SIGKILL');
    await delay(1000);
  },
  paused: async (world: World) => {
    world.signal('SIGSTOP');
    await delay((bearable.check + 2) * 1000);
    world.signal('SIGCONT');
  },
  price: async (world: World) => {
    const db = new Database(`${world.data}/mirror.db`, { timeout: 5000 });
    try {
      db.exec('UPDATE _day SET lowest_price = lowest_price + 1 WHERE product_id = (SELECT max(product_id) FROM _day)');
    } finally {
      db.close();
    }
  },
  'nothing happens': async () => delay(1000),
} as const;

/** Lives through one day, from a first fill to the comparison after it. */
export async function live(day: Day, form: Form, tools: Tools, withControl: boolean): Promise<Lived> {
  const lasts = form.short ? (day.short ?? day.lasts) : day.lasts;
  await using world = await World.start({
    products: form.products,
    host: day.host ?? '127.0.0.1',
    certificate: day.tls ? tools.certificates.good : null,
    ca: day.tls ? tools.certificates.ca : null,
  });
  try {
    day.prepare?.(world, tools);
    if (day.first) await day.begin(world, tools);
    world.run();
    if (!day.first) await world.ready(180_000);
    const seen = await spend(world, day, lasts, form, tools);
    const problems = judge(seen, day, lasts, form);
    world.kept = problems.length > 0;
    const control = withControl ? await broken(world, day, seen, form) : null;
    const stopped = await world.stop();
    return {
      day,
      lasted: lasts,
      seen,
      problems: stopped === 0 || control !== null ? problems : [...problems, `stopped with ${stopped}`],
      control,
    };
  } catch (error) {
    world.kept = true;
    const last = world.lines.slice(-3).map(({ text }) => text);
    const problem = `${error instanceof Error ? error.message : error}; see ${world.directory}; exits ${world.exits.join(' ') || 'none'}; ${last.join(' | ').slice(0, 600)}`;
    return { day, lasted: lasts, seen: null, problems: [problem], control: null };
  }
}

async function spend(world: World, day: Day, lasts: number, form: Form, tools: Tools): Promise<Seen> {
  const [closed = 0, reopened = 0, edited = 0] = world.ids.slice(-3);
  if (!day.first) {
    if (!form.short) await world.change(reopened, 'disable', { reason: 'temporary_closure' });
    world.watch();
    await delay(form.short ? 2000 : 30_000);
  }
  const { conditions } = await world.status().catch(() => ({ conditions: [] }));
  const before = new Set([...quirks, remembering, ...conditions.map(({ code }) => code)]);
  const began_at = Date.now();
  world.receiver.start();
  world.check.start();
  if (!day.first) await day.begin(world, tools);
  await delay(lasts * 200);
  // What is announced now is read within minutes after the day, for which the short form has no time.
  // During a first fill nothing is subscribed yet: what changes then is read with its cadence.
  if (!form.short && !day.first) {
    await world.change(closed, 'disable', { reason: 'out_of_season', alternative: edited });
    await world.change(reopened, 'enable');
    await world.change(edited, 'edit', { field: 'title', value: 'Edited on a bad day' });
  }
  await delay(Math.max(0, began_at + (lasts - 2) * 1000 - Date.now()));
  const status = await world.command<{ conditions: Condition[] }>('status', '--json');
  await day.end(world, tools);
  const ended_at = Date.now();
  if (day.first) {
    await world.ready(300_000);
    world.watch();
  }
  const until = ended_at + form.after * 1000;
  let green: number | null = null;
  let last: readonly string[] = [];
  while (Date.now() < until) {
    const held = (await world.status().catch(() => null))?.conditions.filter(({ code }) => !before.has(code)) ?? null;
    last = held?.map(({ code }) => code) ?? last;
    if (held?.length === 0) green ??= (Date.now() - ended_at) / 1000;
    // On a busy machine the status itself may come late: that says nothing of the conditions.
    else if (held !== null) green = null;
    if (form.short && green !== null && (await world.compared().catch(() => null))?.differences === 0) break;
    await delay(Math.min(5000, Math.max(0, until - Date.now())));
  }
  const { receiver, check } = { receiver: world.receiver.longest() / 1000, check: world.check.longest() / 1000 };
  const today = world.lines.filter(
    ({ at, level }) => at >= began_at && at <= ended_at && /warn|error|fatal/.test(level),
  );
  return {
    exits: [...world.exits],
    receiver,
    check,
    // The service breaks a connection now and then on any day: a line about the whole day comes first.
    began: today.find(({ text }) => /^condition began|cannot be reached/.test(text)) ?? today[0] ?? null,
    ended:
      world.lines.find(
        (line) => line.at >= ended_at && /^condition ended|answers again|^daemon started/.test(line.text),
      ) ?? null,
    conditions: (status?.conditions ?? []).filter(({ code }) => !before.has(code)),
    green,
    held: last,
    ...(await differences(world)),
  };
}

async function differences(world: World): Promise<Pick<Seen, 'differences' | 'unexplained' | 'reasons'>> {
  const { differences, first } = await comparedBetweenReads(world);
  const reasons: string[] = [];
  let unexplained = differences - first.length;
  for (const each of first) {
    // Promises of the whole catalogue are missed because of the products that are named beside them.
    const isOfAll = /^(freshness|mirror_info): /.test(each);
    const id = /product_id":(\d+)|product (\d+)/
      .exec(each)
      ?.slice(1)
      .find((found) => found !== undefined);
    const why = id === undefined ? null : await explained(world, id, each);
    if (!isOfAll && !why?.isReason) unexplained += 1;
    reasons.push(`${each.slice(0, 120)} (${why?.text ?? 'of no product'})`);
  }
  const named = reasons.length > 0 && !first.every((each) => /^(freshness|mirror_info): /.test(each));
  return { differences, unexplained: differences > 0 && !named ? differences : unexplained, reasons };
}

/**
 * Compares again for half a minute while nothing but freshness differs. A record that is read seconds after its target of
 * five minutes misses it for a moment, which is no difference of a fact; one that stays late is reported.
 */
async function comparedBetweenReads(world: World): ReturnType<World['compared']> {
  for (let attempt = 1; ; attempt += 1) {
    const compared = await world.compared();
    const isFreshnessAlone =
      compared.first.length > 0 && compared.first.every((each) => each.startsWith('freshness: '));
    if (!isFreshnessAlone || attempt === 6) return compared;
    await delay(5000);
  }
}

interface Explained {
  readonly timezone: string | null;
  readonly records: readonly { resource: string; due_at: number; due_reason: string; failure: string | null }[];
}

/**
 * Returns why a product is not as the service has it: what fails of it, and when it is read again. A reason is a failure,
 * or a time of today that has begun at the venue since the last read: the service no longer sells it.
 */
async function explained(world: World, id: string, difference: string): Promise<{ text: string; isReason: boolean }> {
  const found = await world.command<Explained>('explain', id, '--json');
  if (found === null) return { text: `explain knows no product ${id}`, isReason: false };
  const [next] = found.records.toSorted((a, b) => a.due_at - b.due_at);
  const seconds = Math.round(((next?.due_at ?? 0) - Date.now()) / 1000);
  const due = next === undefined ? 'nothing is due' : `${next.resource} in ${seconds} s: ${next.due_reason}`;
  const failing = found.records.find(({ failure }) => failure !== null);
  if (failing !== undefined)
    return { text: `explain ${id}: ${failing.resource}: ${failing.failure}; ${due}`, isReason: true };
  // The service's clock is up to a minute ahead.
  const [date = '', time = ''] = new Date(Date.now() + 60_000)
    .toLocaleString('sv-SE', { timeZone: found.timezone ?? 'UTC' })
    .split(' ');
  const slot = /"date":"([\d-]+)".*?"time":"([\d:]+)"/.exec(difference);
  const isPast =
    /^availability_slots: not expected/.test(difference) && slot?.[1] === date && (slot[2] ?? '') <= time
      ? true
      : difference.startsWith('availability_days.availability of') && difference.includes(`"date":"${date}"`);
  return { text: `explain ${id}: ${isPast ? 'a time of today has begun; ' : ''}${due}`, isReason: isPast };
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
  const expected = day.condition;
  if (
    expected !== undefined &&
    lasts >= expected.after &&
    !seen.conditions.some(({ code }) => expected.code.test(code))
  )
    problems.push(`no condition ${expected.code.source}`);
  // A daemon that may end says nothing while it is down.
  const mayBeDown = day.exits !== undefined && seen.exits.length > 0;
  if (!day.quiet && !mayBeDown && expected === undefined && !form.short && seen.conditions.length === 0)
    problems.push('no condition');
  if (!day.quiet && seen.began === null) problems.push('no line at its beginning');
  if (!day.quiet && !form.short && seen.ended === null) problems.push('no line at its end');
  if (!form.short && (seen.green === null || seen.green > greenWithin))
    problems.push(
      seen.green === null
        ? `not green: ${seen.held.join(', ') || 'no status'}`
        : `green only after ${seen.green.toFixed(0)} s`,
    );
  if (seen.unexplained > 0) problems.push(`${seen.unexplained} differences without a reason`);
  return problems;
}

/** Breaks something on purpose, and returns what is reported of it. */
async function broken(world: World, day: Day, seen: Seen, form: Form): Promise<Lived['control']> {
  const what = controls[day.family];
  const exits = world.exits.length;
  world.receiver.start();
  world.check.start();
  await breaks[what](world);
  const now = {
    receiver: world.receiver.longest() / 1000,
    check: world.check.longest() / 1000,
    exits: world.exits.slice(exits),
  };
  const quiet = { ...seen, began: null, ended: null, conditions: [] };
  const { differences: wrong } = what === 'price' ? await world.compared() : { differences: 0 };
  // The day itself may be red: only what the break adds is reported here.
  const clean = { ...(what === 'nothing happens' ? quiet : seen), ...now, unexplained: wrong, green: 0 };
  const { still: _, ...strict } = day;
  const before = judge(
    { ...seen, ...now, exits: [], receiver: 0, check: 0, unexplained: 0, green: 0 },
    strict,
    0,
    form,
  );
  return { what, problems: judge(clean, strict, 0, form).filter((each) => !before.includes(each)) };
}
