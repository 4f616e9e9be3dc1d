import { expect, it } from 'vitest';
import { isOverdue } from '../../src/domain/schedule/job-runs.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;
const waiting = { next_at: now, running: 0, last_run_at: now - minute } as const;
const running = { ...waiting, running: 1 } as const;
const alone = { asksService: false };
const asking = { asksService: true };

it.each([
  ['not due yet', { ...waiting, next_at: now + minute }, alone, false],
  ['due a minute ago', { ...waiting, next_at: now - minute }, alone, false],
  ['due longer ago, and not run', { ...waiting, next_at: now - minute - 1 }, alone, true],
  [
    'due longer ago, and not run, of those that ask the service',
    { ...waiting, next_at: now - minute - 1 },
    asking,
    true,
  ],
  [
    'running past its next tick',
    { ...running, next_at: now - 30 * minute, last_run_at: now - 31 * minute },
    alone,
    false,
  ],
  ['running for more than an hour', { ...running, last_run_at: now - 61 * minute }, alone, true],
  ['waiting for the service for a day', { ...running, last_run_at: now - 1440 * minute }, asking, false],
] as const)('a job that is %s is called overdue only where something is wrong', (_, runs, kind, overdue) => {
  expect(isOverdue(runs, kind, now)).toBe(overdue);
});
