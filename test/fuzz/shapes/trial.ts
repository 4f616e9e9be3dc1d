import { requestResync } from '../../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../../src/cycle/sync-cycle.ts';
import type { CheckAnswer } from '../../../src/desk/check-answer.ts';
import { parseExact } from '../../../src/kernel/values/exact-json.ts';
import { filledHarness, type VirtualHarness } from '../../fakes/virtual-harness.ts';
import { type Answered, answered, decidesOffers, type Member, type Picked, pathsIn, put } from './members.ts';
import { type Shown, shownBy } from './shown.ts';

/** Whether the member is replaced in one record, in all of one product, or in all of each. */
export type Scope = 'one' | 'product' | 'all';

export interface Case extends Member {
  /** Undefined: the member is left out. */
  readonly value: unknown;
  readonly scope: Scope;
}

/** Everything that a case came to. */
export interface Trial {
  /** Members that were replaced, over all answers. */
  readonly replaced: number;
  readonly target: Target;
  readonly before: Shown;
  readonly after: Shown;
  /** Verdict of a check of the tickets that the case is about, while the answer is still so; null: it is about none. */
  readonly verdict: CheckAnswer['verdict'] | null;
  /** What the daemon said of it: conditions, outcomes, failed reads, lines of the log. */
  readonly said: readonly string[];
}

const never = new AbortController().signal;
const minute = 60_000;

/** A few products of every kind, and two weeks of dates: of five records two may be wrong before everything is held. */
const world = { products: 5 };
const config = {
  scheduling: 'fixed',
  cadence: { availability: { near: { days: 4 }, middle: { days: 8 }, horizon: 14 } },
};

/** The product, date and timeslot of which one record is changed. */
export interface Target {
  readonly product_id: number;
  readonly date: string;
  readonly time: string;
  readonly variant_id: number;
}

/** The world before any case: each begins with a copy of it. */
let start: { readonly shown: Shown; readonly said: readonly string[] } | null = null;

/** Lives through a case: reads what is due, waits until claims were said twice, and asks before an order. */
export async function liveThrough({ answer, path, value, scope }: Case): Promise<Trial> {
  await using harness = await filledHarness(world, config);
  const { daemon, clock, sandbox, log } = harness;
  start ??= { shown: shownBy(daemon.config.mirror.path, clock.now()), said: await toldBy(harness) };
  const { shown: before, said: quiet } = start;
  const target = targetOf(before);

  const lines = log.lines().length;
  const change = replacing(harness, { answer, path, value, scope }, target);
  requestResync(daemon.sync, { resources: [answered[answer].resync], product_ids: [], from: null, to: null });
  await harness.drive(runSyncCycle(daemon.sync, 4, { job_id: null, signal: never }));

  await harness.live(2 * minute);

  const verdict = decidesOffers({ answer, path }) ? await verdictOn(harness, path, target) : null;

  const after = shownBy(daemon.config.mirror.path, clock.now());
  const said = [
    ...(await toldBy(harness)).filter((each) => !quiet.includes(each)),
    ...log
      .lines()
      .slice(lines)
      .map(({ msg }) => `log: ${String(msg)}`),
  ];

  sandbox.faults.clear();
  return { replaced: change.replaced, target, before, after, verdict, said: [...new Set(said)] };
}

/** Asks for the tickets whose offer was changed. */
async function verdictOn(harness: VirtualHarness, path: string, target: Target): Promise<CheckAnswer['verdict']> {
  const { product_id, date, time, variant_id } = target;
  const ofSlot = path.startsWith('dates[].timeslots[].') ? { time } : {};
  const ofVariant = path.startsWith('dates[].timeslots[].variants[].') ? { variants: [{ variant_id, count: 1 }] } : {};
  const { checks } = harness.daemon;
  const answer = await harness.drive(checks.check({ product_id, date, ...ofSlot, ...ofVariant }, never));
  await harness.drive(checks.stored());
  return answer.verdict;
}

/** Replaces a member in the sandbox's answers from now on. */
function replacing({ sandbox }: VirtualHarness, { answer, path, value, scope }: Case, target: Target) {
  const counts = { replaced: 0 };
  const { url, also }: Answered = answered[answer];
  const { faults } = sandbox;
  const lied = faults.lied.bind(faults);
  faults.lied = (method, address, body) => {
    const said = lied(method, address, body);
    if (method !== 'GET' || (scope !== 'all' && !isAbout(address, target))) return said;
    const here = url.test(address) ? path : also?.url.test(address) ? path.replace(also.from, also.to) : null;
    if (here === null) return said;
    const document = parseExact(said);
    counts.replaced += put(document, here, value, picked[scope](target));
    return JSON.stringify(document);
  };
  return counts;
}

function isAbout(address: string, { product_id }: Target): boolean {
  const [, id] = /\/products\/(\d+)/.exec(address) ?? [];
  return id === undefined || Number(id) === product_id;
}

const picked: Readonly<Record<Scope, (target: Target) => Picked>> = {
  one: only,
  product: (target) => (list, elements) =>
    list === 'products' ? only(target)(list, elements) : everyOne(list, elements),
  all: () => everyOne,
};

const everyOne: Picked = (_, elements) => elements.map((_, index) => index);

/** Of a list the element of the target: its row, its date, its time; else the first one. */
function only({ product_id, date, time, variant_id }: Target): Picked {
  const wanted: Readonly<Record<string, (element: Readonly<Record<string, unknown>>) => boolean>> = {
    products: ({ id }) => Number(id) === product_id,
    dates: (day) => day.date === date,
    'dates[].timeslots': (slot) => slot.time === time,
    'dates[].timeslots[].variants': ({ id }) => Number(id) === variant_id,
  };
  return (list, elements) => {
    const isWanted = wanted[list];
    if (isWanted === undefined) return elements.length === 0 ? [] : [0];
    const index = elements.findIndex((element) => isWanted(element as Readonly<Record<string, unknown>>));
    return index < 0 ? [] : [index];
  };
}

/** Chooses a date that stays in the same window, and of it the first time with a variant that costs something. */
function targetOf({ rows }: Shown): Target {
  for (const [key, slot] of rows.availability_slots ?? []) {
    const [product_id, date = '', , time = '', variant_id] = key.split(' ');
    const product = rows.products?.get(`${product_id} en`);
    const images = [...(rows.images?.values() ?? [])].some(
      (each) => each.product_id === Number(product_id) && each.position === 0 && each.credit !== null,
    );
    const good = product?.timezone != null && images && Number(slot.retail_price) > 0 && slot.availability !== null;
    if (good && date >= '2026-11-27' && time !== 'whole_day' && product?.from_price !== null)
      return { product_id: Number(product_id), date, time, variant_id: Number(variant_id) };
  }
  throw new Error('no product of the world has everything');
}

/** Returns everything that the daemon says is wrong. */
async function toldBy({ daemon }: VirtualHarness): Promise<string[]> {
  const status = await daemon.status.counted();
  const { conditions, outcomes, failures, held, short_lists, records } = status;
  // A status of before this figure has none.
  const { unreadable = [] } = status as { readonly unreadable?: readonly unknown[] };
  return [
    ...conditions.map(({ code, says }) => `condition: ${code}: ${says}`),
    ...outcomes.map((outcome) => `outcome: ${JSON.stringify(outcome)}`),
    ...failures.map(({ resource, failure }) => `failed read: ${resource}: ${failure}`),
    ...unreadable.map((each) => `unreadable: ${JSON.stringify(each)}`),
    ...held.map((each) => `held: ${JSON.stringify(each)}`),
    ...short_lists.map((each) => `short list: ${JSON.stringify(each)}`),
    ...(records.unanswered > 0 ? [`unanswered: ${records.unanswered}`] : []),
  ];
}

/** Returns every member of every answer that the sandbox gives in this world. */
export async function membersOfWorld(): Promise<Member[]> {
  const paths = new Map<keyof typeof answered, Set<string>>();
  await using harness = await filledHarness(world, config, { fill: 'own' });
  const { faults } = harness.sandbox;
  const lied = faults.lied.bind(faults);
  faults.lied = (method, address, body) => {
    for (const [name, { url }] of Object.entries(answered)) {
      if (method !== 'GET' || !url.test(address)) continue;
      const known = paths.get(name as keyof typeof answered) ?? new Set();
      for (const path of pathsIn(JSON.parse(body))) known.add(path);
      paths.set(name as keyof typeof answered, known);
    }
    return lied(method, address, body);
  };
  requestResync(harness.daemon.sync, {
    resources: ['products', 'checkout', 'variants', 'availability'],
    product_ids: [],
    from: null,
    to: null,
  });
  await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: never }));
  return [...paths].flatMap(([answer, found]) => {
    const { added = [] } = answered[answer] as { added?: readonly string[] };
    return [...new Set([...found, ...added])].map((path) => ({ answer, path }));
  });
}
