import type { Tests } from './scratch.ts';

/** One line of the program, changed: what a careless hand might do to it. */
export interface Mutation {
  /** Relative to the repository's root. */
  readonly file: string;
  readonly line: number;
  /** Where the changed text begins in the file. */
  readonly start: number;
  readonly from: string;
  readonly to: string;
  /** The file as it is then. */
  readonly text: string;
  /** What was done, or which guarantee it breaks. */
  readonly kind: string;
  /** The tests that are expected to notice; without, those nearest to the file. */
  readonly tests?: readonly Tests[];
}

/** The mutation of `source` that has `to` where `from` to `end` stands. */
export function replaced(
  file: string,
  source: string,
  { start, end, by, kind }: { start: number; end: number; by: string; kind: string },
): Mutation {
  const line = source.slice(0, start).split('\n').length;
  const text = source.slice(0, start) + by + source.slice(end);
  return { file, line, start, kind, from: source.slice(start, end), to: by, text };
}
