import type { Entropy } from '../../src/clock.ts';
import { hex } from '../../src/sandbox/random.ts';

/** Bytes that anybody can foresee: the same ones, in the same order, for the same seed. */
export function seededEntropy(seed: number): Entropy {
  let step = 0;
  return (bytes) => Buffer.from(hex(2 * bytes, seed, step++, 'entropy'), 'hex');
}
