import { wilson } from '../../../src/domain/truth/estimate.ts';
import { number } from '../../../src/format.ts';

/** What was asked for on the command line. */
export interface Asked {
  /** Whether a flag was given. */
  is(flag: string): boolean;
  /** The number given, or what a story uses by itself. */
  number(name: string, usual: number): number;
}

/** Tells a story, and returns the exit status: 0 if everything is as promised. */
export type Story = (asked: Asked) => Promise<number>;

export const say = (text: string) => process.stdout.write(text);
export const saying = (line: string) => void say(`${line}\n`);

export function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`);
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

/** A share of so many, with the margin in which it lies 19 times in 20: `0.12 % ± 0.35 (1 of 854)`. */
export function withMargin(part: number, of: number): string {
  if (of === 0) return 'none asked';
  const share = part / of;
  const { low, high } = wilson(share, of);
  const margin = Math.max(high - share, share - low);
  return `${percent(share)} ± ${(100 * margin).toFixed(2)} (${number(part)} of ${number(of)})`;
}
