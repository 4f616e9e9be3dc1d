import { inject, type TestOptions } from 'vitest';
import { thorough } from './thorough.ts';
import type { Need } from './tools.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Needs of the test that this machine does not meet. */
    missing?: readonly Need[];
  }
}

/**
 * Returns options for `it` or `describe`: skipped where something that the test needs is missing, unless
 * `CATALOGUED_TEST_STRICT=1` makes that a failure. The run's last line names what was skipped.
 */
export function needs(...wanted: Need[]): TestOptions {
  return optionsWhere(inject('missing'), wanted, thorough);
}

/** Returns the same for a machine that lacks `missing`. */
export function optionsWhere(missing: readonly Need[], wanted: readonly Need[], strict: boolean): TestOptions {
  const lacking = wanted.filter((need) => missing.includes(need));
  return lacking.length === 0 ? {} : { skip: !strict, meta: { missing: lacking } };
}
