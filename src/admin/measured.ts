import type { DaemonStatus } from '../status/daemon-status.ts';
import type { Family, Labels, Sample } from './exposition.ts';
import type { ProcessFigures } from './process-figures.ts';

/* The facts from which `/metrics` is computed. */

export interface Facts {
  readonly status: DaemonStatus;
  readonly process: ProcessFigures;
  readonly now: number;
}

export interface MeasuredFamily extends Family {
  readonly of: (facts: Facts) => readonly Sample[];
}

export function gauge(name: string, help: string, of: MeasuredFamily['of']): MeasuredFamily {
  return { name, type: 'gauge', help, of };
}

/** Returns a counter. It only grows, but may start from zero with the process. */
export function counter(name: string, help: string, of: MeasuredFamily['of']): MeasuredFamily {
  return { name, type: 'counter', help, of };
}

export function one(value: number | null): Sample[] {
  return some({}, value);
}

/** Returns one sample, or none for a missing value, because an unmeasured value is not 0. */
export function some(labels: Labels, value: number | null): Sample[] {
  return value === null ? [] : [{ labels, value }];
}

export function labelled(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

export function bit(condition: boolean): 0 | 1 {
  return condition ? 1 : 0;
}

export function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
