import type { Entropy } from '../../src/kernel/clock.ts';
import { hex } from '../../src/sandbox/random.ts';

/** Bytes that anybody can foresee: the same ones, in the same order, for the same seed. */
export class SeededEntropy {
  readonly #seed: number;
  /** Counts what was drawn, so that a later process goes on from there. */
  #step: number;

  constructor(seed: number, step = 0) {
    this.#seed = seed;
    this.#step = step;
  }

  get step(): number {
    return this.#step;
  }

  readonly bytes: Entropy = (bytes) => Buffer.from(hex(2 * bytes, this.#seed, this.#step++, 'entropy'), 'hex');
}

export const seededEntropy = (seed: number): Entropy => new SeededEntropy(seed).bytes;
