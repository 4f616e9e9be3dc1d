import type { Need } from '../fakes/needs.ts';

export interface Outcome {
  readonly passed: boolean;
  /** Whether anything was tried at all; else it says nothing. */
  readonly ran?: false;
  readonly numbers: string;
}

/** A fault of reliability.md that is injected into real processes and files. */
export interface Fault {
  readonly id: string;
  readonly what: string;
  readonly needs: readonly Need[];
  run(): Promise<Outcome>;
}
