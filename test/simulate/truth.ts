import { drawAudits } from '../../src/domain/truth/draw.ts';
import { type Audited, auditPeriodMs, untrueShare } from '../../src/domain/truth/estimate.ts';
import { type Course, chanceOf, coursesOf, firstChange, type Scenario, scenarios } from './courses.ts';
import { adaptiveScheduler, bound } from './schedulers.ts';
import { asThread, inThreads } from './threads.ts';

/** A week of a world: what was untrue of shoppers' time, and what random reads said. */
export interface MeasuredWorld {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly products: number;
  /** From 0 to 1. */
  readonly truth: number;
  readonly share: number | null;
  readonly margin: number | null;
  readonly audited: number;
  /** Shoppers who ordered what was shown, and those whose product had changed by then, in whatever date. */
  readonly ordered: number;
  readonly wrong: number;
}

type World = Pick<MeasuredWorld, 'scenario' | 'seed' | 'products'> & { readonly times: number };

/** Hours: three days to learn, then the week in which products arrive where any do. */
const begin = 11 * 24;
const warmUp = 14 * 24;
const end = 21 * 24;
const period = auditPeriodMs / 3_600_000;
/** Of all calls. */
const share = 0.01;
/** Shoppers an hour, for all products together. */
const shoppers = 500 / 24;

interface State {
  readonly course: Course;
  /** Null: not read yet. */
  last: number | null;
  next: number;
  /** Instants of random reads, the next one last. */
  drawn: number[];
}

/** Lives in a world under the daemon's own decisions, with `times` the calls that the promises need. */
function live({ scenario, seed, products, times }: World): MeasuredWorld {
  const chance = chanceOf(seed * 1000 + 7);
  const dice = chanceOf(seed * 1000 + 8);
  const arrivals = chanceOf(seed * 1000 + 9);
  const plan = adaptiveScheduler();
  const states = coursesOf(seed, scenario, products).map(
    (course): State => ({
      course,
      last: null,
      next: Math.max(begin, course.arrives) + (chance() * bound) / 2,
      drawn: [],
    }),
  );
  const perProduct = times / bound;
  const periods = Array.from({ length: (end - warmUp) / period }, () => ({ audited: 0, untrue: 0 }));
  const found = { stale: 0, lived: 0, ordered: 0, wrong: 0 };

  function visit(state: State, at: number, why: 'random' | 'due'): void {
    const { course, last } = state;
    const change = last === null ? null : firstChange(course, last, at, chance);
    if (at >= warmUp && last !== null) {
      found.lived += course.weight * (at - Math.max(warmUp, last));
      if (change !== null) found.stale += course.weight * (at - Math.max(warmUp, change));
      serve(course.weight, Math.max(warmUp, last), at, change ?? at);
      if (why === 'random') count(periods[Math.floor((at - warmUp) / period)], change !== null);
    }
    state.next = plan.next(course, at, last === null ? null : at - last, change !== null);
    state.last = at;
  }

  /** Those who come for a product between two reads, of which those after its change met something else. */
  function serve(weight: number, from: number, to: number, change: number): void {
    const gap = () => -Math.log(1 - arrivals()) / (weight * shoppers);
    for (let at = from + gap(); at < to; at += gap()) {
      found.ordered += 1;
      if (at > change) found.wrong += 1;
    }
  }

  for (let hour = begin; hour < end; hour += 1) {
    const there = states.filter(({ course }) => course.arrives <= hour).map(({ course }) => course);
    const budget = perProduct * there.length;
    plan.hourly(hour, there, budget * (1 - share));
    if (hour % period === 0) draw(states, { from: hour, to: hour + period, reads: share * budget * period }, dice);
    for (const state of states)
      for (;;) {
        const random = state.drawn.at(-1) ?? Number.POSITIVE_INFINITY;
        const at = Math.min(random, state.next);
        if (at >= hour + 1) break;
        if (at === random) state.drawn.pop();
        // Nothing is shown of it yet.
        if (at === random && state.last === null) continue;
        visit(state, at, at === random ? 'random' : 'due');
      }
  }
  const { audited, share: measured, margin } = untrueShare(periods);
  const { ordered, wrong } = found;
  const truth = found.stale / found.lived;
  return { scenario, seed, products, truth, share: measured, margin, audited, ordered, wrong };
}

function draw(states: readonly State[], span: { from: number; to: number; reads: number }, dice: () => number): void {
  const { next } = drawAudits({ ...span, total: 1 }, dice);
  for (const state of states) state.drawn = next(state.course.weight).sort((a, b) => b - a);
}

function count(period: { -readonly [Name in keyof Audited]: Audited[Name] } | undefined, untrue: boolean): void {
  if (period === undefined) return;
  period.audited += 1;
  if (untrue) period.untrue += 1;
}

/** Every scenario with so many seeds, on as many threads as there are cores. */
export function measuredWorlds(
  seeds: number,
  extent: Pick<World, 'products' | 'times'>,
  threads: number,
  done: (measured: MeasuredWorld) => void,
): Promise<MeasuredWorld[]> {
  const worlds = scenarios.flatMap((scenario) =>
    Array.from({ length: seeds }, (_, seed): World => ({ scenario, seed: seed + 1, ...extent })),
  );
  return inThreads<World, MeasuredWorld>(import.meta.url, worlds, threads, done);
}

await asThread(import.meta.url, async (world: World) => live(world));
