/** A check and its result. `skipped`: it could not be made, or there is nothing to check. */
export interface Check {
  readonly name: string;
  readonly verdict: 'ok' | 'wrong' | 'skipped';
  readonly found: string;
  /** Instruction; null if there is nothing to do. */
  readonly advice: string | null;
}

export function isHealthy(checks: readonly Check[]): boolean {
  return checks.every(({ verdict }) => verdict !== 'wrong');
}

export function check(name: string, right: boolean, text: { right: string; wrong: string; advice: string }): Check {
  return right ? ok(name, text.right) : wrong(name, text.wrong, text.advice);
}

export function ok(name: string, found: string): Check {
  return { name, verdict: 'ok', found, advice: null };
}

export function wrong(name: string, found: string, advice: string): Check {
  return { name, verdict: 'wrong', found, advice };
}

export function skipped(name: string, found: string): Check {
  return { name, verdict: 'skipped', found, advice: null };
}

/** Returns whether a version like `3.40.1` comes before another. */
export function olderThan(version: string, needed: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  const first = needed.findIndex((part, index) => (parts[index] ?? 0) !== part);
  return first !== -1 && (parts[first] ?? 0) < (needed[first] ?? 0);
}
