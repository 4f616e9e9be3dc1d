/** One measure of a benchmark, and whether it is as good as it has to be; what was not run is not. */
export interface Line {
  readonly what: string;
  readonly value: string;
  readonly target: string;
  readonly met: boolean | 'not run';
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;
}
