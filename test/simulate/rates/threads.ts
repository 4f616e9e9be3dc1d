import { asThread, inThreads } from '../threads.ts';
import type { Cell } from './run.ts';
import { lineOf, runRow } from './table.ts';

interface Job {
  readonly index: number;
  readonly cell: Cell;
  readonly seeds: readonly number[];
}

/** A row of the table that is ready: its line, and what is said of the whole. */
export interface Line {
  readonly index: number;
  readonly line: string;
  readonly missed: boolean;
  /** Whether the rule before this one let too little through: the control. */
  readonly old_missed: boolean;
}

/** Every cell by every seed, on so many threads; `ready` is called in the cells' order, each as soon as those before it are. */
export async function rateLines(
  cells: readonly Cell[],
  seeds: readonly number[],
  threads: number,
  ready: (line: Line) => void,
): Promise<Line[]> {
  const jobs: Job[] = cells.map((cell, index) => ({ index, cell, seeds }));
  const waiting = new Map<number, Line>();
  let next = 0;
  const lines = await inThreads<Job, Line>(import.meta.url, jobs, threads, (line) => {
    waiting.set(line.index, line);
    for (let due = waiting.get(next); due !== undefined; due = waiting.get(++next)) ready(due);
  });
  if (lines.length < cells.length) throw new Error(`${cells.length - lines.length} cells were not run`);
  return lines;
}

await asThread<Job, Line>(import.meta.url, async ({ index, cell, seeds }) => {
  const row = await runRow(cell, seeds);
  const old_missed = row.least !== null && row.old.used < row.least;
  return { index, line: lineOf(row), missed: row.missed.length > 0, old_missed };
});
