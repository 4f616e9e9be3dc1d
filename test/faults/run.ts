import type { Need } from '../fakes/tools.ts';

/** What `npm run faults` was asked for. */
export interface FaultOptions {
  readonly kills: number;
  readonly images: number;
  readonly reads: number;
  readonly seed: number;
  /** Of mutations: how many are judged (null: 60 drawn ones, or all of promises), how many at once. */
  readonly sample: number | null;
  readonly workers: number;
  /** The only files and lines of which some are made, and words of the only promises. */
  readonly lines: readonly string[];
  readonly row: string | undefined;
  /** Every test judges a drawn one, not the nearest. */
  readonly whole: boolean;
  /** Every call and write is tried, none is passed over. */
  readonly all: boolean;
  readonly long: boolean;
}

export interface Outcome {
  readonly passed: boolean;
  /** Whether anything was tried at all; else it says nothing. */
  readonly ran?: false;
  readonly numbers: string;
}

/** One way in which the fault of a row is injected into real processes and files. */
export interface Run {
  readonly what: string;
  readonly needs?: readonly Need[];
  /** It takes minutes: left to `--long`, or to `--only` with the row's name. */
  readonly form?: 'long';
  /** It mostly waits: it runs beside the others, one after the other with those of the same name. */
  readonly beside?: 'daemons' | 'clock' | 'systemd';
  /** `say` prints a line of its own. */
  run(say: (line: string) => void): Promise<Outcome>;
}

/** Thrown where this machine turns out to be unable to run it. */
export class CannotRun extends Error {}

/** A run with a seeded bug: it is as expected where the bug is found. */
export function control(what: string, needs: Run['needs'], run: () => Promise<Outcome>): Run {
  const told = async () => {
    const { passed, numbers } = await run();
    return { passed, numbers: `${numbers}${passed ? ': the harness sees it' : ''}` };
  };
  return { what: `control: ${what}`, needs: needs ?? [], run: told };
}
