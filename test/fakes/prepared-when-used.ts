import { preparing } from '../../src/kernel/sqlite/statements.ts';

/*
 * A set-up file of vitest. A start prepares 400 statements, of which a test uses a part; the suite opens its files many
 * hundred times. Every start of the program itself prepares them all, also in the tests that start it.
 */
preparing.atOnce = false;

/** Prepares all statements at once until it is disposed of, as the program does. */
export function preparedAtOnce(): Disposable {
  preparing.atOnce = true;
  return {
    [Symbol.dispose]: () => {
      preparing.atOnce = false;
    },
  };
}
