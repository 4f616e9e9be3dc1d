import { expect } from 'vitest';
import type { Answers } from '../../src/admin/api.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { type FilledOptions, filledHarness, type VirtualHarness, virtualHarness } from './virtual-harness.ts';

/** A service, and a daemon that mirrors it. */
export interface World extends FilledOptions {
  readonly service?: Partial<SandboxOptions>;
  readonly config?: Record<string, unknown>;
  /** The daemon begins with an empty mirror. */
  readonly empty?: true;
}

/** Answers of a daemon and its service to those who look from outside. Each is compared whole. */
export interface Expected {
  /** Rows of the published views, by the statement that reads them. */
  readonly rows?: Readonly<Record<string, readonly unknown[]>>;
  /** Answers of the admin interface, by the operation. */
  readonly answers?: Partial<Record<keyof Answers, unknown>>;
  /** Sentences of all conditions that hold, by their code. Needs `conditions` of the world. */
  readonly conditions?: Readonly<Record<string, unknown>>;
  /** Calls since the step began, by the kind that the service counts; `all`: all of them. */
  readonly calls?: Readonly<Record<string, unknown>>;
  /** How often the daemon has logged a message. */
  readonly logged?: Readonly<Record<string, number>>;
  /** Records that fail, as the status counts them: `resource: failure`. */
  readonly failures?: readonly string[];
  readonly filled?: boolean;
  /** How many products are shown. */
  readonly products?: number;
  /** Differences between the mirror and the service, by the oracle; examples of them are printed. */
  readonly differences?: 0;
}

/** A part of a world's life: what happens, how long the world goes on, and what is seen then. */
export interface Step {
  /** Rules of the service's faults, added to those before, or anything else that happens. */
  readonly faults?: readonly FaultRule[] | ((world: VirtualHarness) => unknown);
  /** Milliseconds, or until something is so: it fails where that takes longer than `within`. */
  readonly live?: number | { readonly until: (world: VirtualHarness) => boolean; readonly within: number };
  /** A function: asks and compares by itself, for what `Expected` has no word for. */
  readonly expect?: Expected | ((world: VirtualHarness) => unknown);
}

const minute = 60_000;

/** Lives through a world and expects what its users see. `later`: goes on from there. */
export async function check({
  world,
  later = [],
  ...first
}: Step & { readonly world: World; readonly later?: readonly Step[] }): Promise<void> {
  const { service = {}, config = {}, empty, ...options } = world;
  await using harness = await (empty === undefined
    ? filledHarness(service, config, options)
    : virtualHarness(service, config, options));
  for (const step of [first, ...later]) {
    const before = callsOf(harness);
    await happen(harness, step.faults ?? []);
    await live(harness, step.live ?? 0);
    if (typeof step.expect === 'function') await step.expect(harness);
    else if (step.expect !== undefined) expect(await seen(harness, step.expect, before)).toEqual(step.expect);
  }
}

async function happen(harness: VirtualHarness, faults: NonNullable<Step['faults']>): Promise<void> {
  if (typeof faults === 'function') await faults(harness);
  else for (const rule of faults) harness.sandbox.faults.add(rule);
}

async function live(harness: VirtualHarness, how: NonNullable<Step['live']>): Promise<void> {
  const began = harness.clock.now();
  if (typeof how === 'number') return harness.liveUntil(began + how);
  while (!how.until(harness)) {
    expect(harness.clock.now() - began, 'milliseconds until it is so').toBeLessThan(how.within);
    await harness.live(minute);
  }
}

/** Asks the questions whose answers are expected, and no other. */
async function seen(harness: VirtualHarness, asked: Expected, before: Record<string, number>): Promise<Expected> {
  const calls = callsOf(harness);
  const answers = Object.keys(asked.answers ?? {}) as (keyof Answers)[];
  const lines = harness.log.lines();
  const found: Required<Omit<Expected, 'answers' | 'conditions' | 'failures' | 'differences'>> = {
    rows: byKey(asked.rows, (sql) => harness.rows(sql)),
    calls: byKey(asked.calls, (kind) => (calls[kind] ?? 0) - (before[kind] ?? 0)),
    logged: byKey(asked.logged, (message) => lines.filter(({ msg }) => msg === message).length),
    filled: harness.isFilled(),
    products: harness.products().length,
  };
  const { first = [], differences = 0 } = asked.differences === undefined ? {} : await harness.compare();
  if (differences > 0) expect(first).toEqual([]);
  const late = {
    answers: Object.fromEntries(await Promise.all(answers.map(async (name) => [name, await harness.ask(name)]))),
    conditions: asked.conditions === undefined ? {} : await harness.conditions(),
    failures: asked.failures === undefined ? [] : await failuresOf(harness),
    differences,
  };
  return Object.fromEntries(Object.entries({ ...found, ...late }).filter(([key]) => key in asked));
}

async function failuresOf({ ask }: VirtualHarness): Promise<string[]> {
  const { failures } = await ask('GET /v1/status');
  return failures.map(({ resource, failure }) => `${resource}: ${failure}`);
}

function callsOf({ sandbox }: VirtualHarness): Record<string, number> {
  const { calls, by_kind } = sandbox.calls.counts();
  return { ...by_kind, all: calls };
}

function byKey<Value>(asked: object | undefined, answer: (key: string) => Value): Record<string, Value> {
  return Object.fromEntries(Object.keys(asked ?? {}).map((key) => [key, answer(key)]));
}
