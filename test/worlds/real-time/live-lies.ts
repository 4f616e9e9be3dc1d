import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Quirks } from '../../../src/sandbox/rough/quirks.ts';
import { forms } from './day.ts';
import { type Began, Conditions, Reads } from './meanwhile.ts';
import { type Condition, RealWorld, rough } from './real-world.ts';
import { Shown } from './shown.ts';
import type { LieDay } from './table-of-lies.ts';
import type { Fault } from './way.ts';

/** What was seen on one day. */
export interface LieSeen {
  readonly shown: Shown | null;
  readonly before: Reads | null;
  readonly during: Reads | null;
  /** Seconds from the end of a refusal until everything was read; null: it was not. */
  readonly recovered: number | null;
  readonly conditions: readonly Began[];
  /** Those that held at the end of the day. */
  readonly standing: readonly string[];
  /** Seconds from the end of the day until everything was asked for anew. */
  readonly swept: number;
  /** Exit codes of `catalogued status` before the day and near its end. */
  readonly status: readonly (number | null)[];
  readonly exits: readonly (number | string)[];
  readonly differences: number;
  readonly first: readonly string[];
}

export interface LivedLie {
  readonly day: LieDay;
  readonly seen: LieSeen | null;
  readonly problems: readonly string[];
}

const cadence = { availability: { near: { every: '3m' }, middle: { every: '3m' }, far: { every: '3m' } } };
/** Without the quirks that are conditions on any day. */
const usual: Quirks = { ...rough, hostile_values: 0, clock_skew_ms: 0, list_order: 'stable', dates: 'honoured' };
/** Seconds in which a hold of dates must end by itself, by their cadence; other records are read hourly, at the most. */
export const endsWithin = 210;
/** Seconds in which it must have ended after everything was read again: holds are looked at once a minute. */
const sweptWithin = 120;
/** Seconds in which everything must be read after a refusal of everything. */
export const recoversWithin = 150;

/** Lives through one day, from a first fill until everything was read again. */
export async function liveLie(day: LieDay): Promise<LivedLie> {
  const { config } = day;
  await using world = await RealWorld.start({
    sandbox: { products: forms.whole.products, hold_ms: 5000, quirks: usualOf(day) },
    config: { cadence, ...config },
  });
  try {
    const seen = await spend(world, day);
    const problems = judge(seen, day);
    world.kept = problems.length > 0 && day.control === undefined;
    const stopped = await world.stop();
    if (stopped !== 0) problems.push(`stopped with ${stopped}`);
    return { day, seen, problems: world.kept ? [...problems, `see ${world.directory}`] : problems };
  } catch (error) {
    world.kept = true;
    const problem = `${error instanceof Error ? error.message : error}; see ${world.directory}`;
    return { day, seen: null, problems: [problem] };
  }
}

/** A stray 503 or reset is no refusal, and has calls repeated. */
const usualOf = ({ refuses }: LieDay): Quirks => (refuses === undefined ? usual : { ...usual, faults: [] });

async function spend(world: RealWorld, day: LieDay): Promise<LieSeen> {
  const { lasts, refuses } = day;
  const isLie = refuses === undefined;
  const right = randomBytes(32).toString('hex');
  const sweep = () => world.command(20_000, 'resync', '--all');
  const begin = async () => {
    for (const fault of day.faults?.(world.ids) ?? []) world.sandbox.faults.add(fault);
    world.sandbox.setQuirks(day.quirks ?? {});
    if (refuses?.key) await world.way.begin({ answer: onlyFor(right) });
    if (!refuses?.first) void sweep();
  };
  let before: Reads | null = null;
  let status: Status = { code: null, conditions: [] };
  if (!refuses?.first) {
    world.run();
    await world.ready(300_000);
    await delay(10_000);
    if (!isLie) {
      before = new Reads(world, '0');
      void sweep();
      await follow(120, () => before?.look(), () => before?.after !== null); // biome-ignore format: one line
    }
    status = await statusOf(world);
  }
  using shown = isLie ? new Shown(world) : null;
  const during = isLie ? null : new Reads(world, refuses.about.replace(':first', String(world.ids[0])));
  const conditions = new Conditions(world, status.conditions);
  await begin();
  if (refuses?.first) world.run();
  let reads = during;
  const look = async () => {
    shown?.look();
    reads?.look();
    await conditions.look();
  };
  const codes = [status.code];
  // A claim is believed when it is said a second time, a minute later.
  const second = setTimeout(() => isLie && void sweep(), Math.min(75, lasts - 1) * 1000);
  const asked = setTimeout(async () => void codes.push((await statusOf(world)).code), lasts * 700);
  await follow(lasts, look).finally(() => [second, asked].forEach(clearTimeout));
  const standing = conditions.now();

  // A list counts as read at the beginning of its walk, which is before the end.
  const recovery = isLie || day.condition === undefined ? null : new Reads(world, 'product_id = 0');
  reads = recovery;
  world.sandbox.faults.clear();
  world.sandbox.setQuirks(usualOf(day));
  if (refuses?.key) {
    world.setKey(right);
    await world.command(20_000, 'reload');
  }
  const ended_at = conditions.end();
  const isOver = () => conditions.now().length === 0 && recovery?.after !== null;
  await follow(isLie ? endsWithin : recoversWithin, look, isOver);
  const swept = (Date.now() - ended_at) / 1000;
  let found = { differences: 0, first: [] as readonly string[] };
  if (isLie) {
    let isDone = false;
    const sweepAll = async () => {
      await world.command(150_000, 'resync', '--all', '--wait');
      isDone = true;
    };
    void sweepAll();
    await follow(150, look, () => isDone);
    await follow(sweptWithin, look, isOver);
    const compare = async () => {
      found = await world.compared();
    };
    await follow(60, compare, () => found.differences === 0);
  }
  return {
    shown,
    before,
    during,
    recovered: recovery?.after ?? null,
    conditions: conditions.all(),
    standing,
    swept,
    status: codes,
    exits: [...world.exits],
    ...found,
  };
}

/** BatchReads once a second, for so long or until it is over. */
async function follow(seconds: number, look: () => void | Promise<void>, isOver = () => false): Promise<void> {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const next = Date.now() + 1000;
    await look();
    if (isOver()) return;
    await delay(Math.max(0, Math.min(next, end) - Date.now()));
  }
}

/** Refuses every call that has not this key. */
function onlyFor(right: string): NonNullable<Fault['answer']> {
  return (call, answer, pass) => {
    if (call.headers.authorization === `Token ${right}`) return pass();
    call.resume();
    answer.writeHead(401, { 'content-type': 'application/json' }).end('{"success":false}');
  };
}

interface Status {
  readonly code: number | null;
  readonly conditions: readonly string[];
}

async function statusOf(world: RealWorld): Promise<Status> {
  const { code, stdout } = await world.command(20_000, 'status', '--json');
  const conditions = stdout === '' ? [] : (JSON.parse(stdout) as { conditions: Condition[] }).conditions;
  return { code, conditions: conditions.map((each) => each.code) };
}

/** Returns everything that was shown and should have been held, or the other way round. */
function judge(seen: LieSeen, { condition, control, refuses }: LieDay): string[] {
  const { shown, during, conditions, standing, swept, recovered, differences, exits } = seen;
  const problems: string[] = [];
  if (exits.length > 0) problems.push(`${exits.length} exits of its own: ${exits.join(', ')}`);
  for (const [subject, { at_once, able, limit }] of shown?.subjects ?? [])
    if (at_once > limit) problems.push(`${subject}: ${at_once} of ${able} records shown wrong, unmarked, of ${limit}`);
  if (control) return problems;
  const found = conditions.find(({ code }) => code === condition);
  if (condition !== undefined && found === undefined) problems.push(`no condition ${condition}`);
  for (const { code, ended } of conditions)
    if (refuses === undefined && ended === null)
      problems.push(`${code} still held ${Math.round(swept)} s after the end, and after a sweep`);
  for (const code of standing)
    if (refuses !== undefined && code !== condition && refused.has(code)) problems.push(`${code} stood at the end`);
  if (during !== null) {
    const { others, calls } = during;
    if (others.read < others.all) problems.push(`${others.all - others.read} of ${others.all} others were not read`);
    if (calls > (refuses?.calls ?? calls)) problems.push(`${calls} calls, at most ${refuses?.calls}`);
    if (condition !== undefined && recovered === null)
      problems.push(`not everything was read within ${recoversWithin} s of the end`);
  }
  if (differences > 0) problems.push(`${differences} differences: ${seen.first[0]}`);
  return problems;
}

/** Conditions that say that nothing is read: not what a refusal of some of it may lead to. */
const refused: ReadonlySet<string> = new Set([
  'key-refused',
  'service-pause',
  'service-unreachable',
  'service-unusable',
]);
