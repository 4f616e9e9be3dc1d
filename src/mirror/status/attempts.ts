import type { Instant } from '../../clock.ts';
import { type Failing, notFailing } from '../../domain/files/failing.ts';
import type { OperationFailure } from './outcomes.ts';

/**
 * The attempts of one operation. Their last result is known at once, also while the mirror cannot be written, and is
 * stored when it can.
 */
export class Attempts {
  readonly #save: (at: Instant, failure: Omit<OperationFailure, 'at'> | null) => void;
  #failing: Failing;
  #failures = 0;
  #failed_at: Instant | null = null;

  /** Continues from what an earlier process stored. */
  constructor(before: Failing, save: (at: Instant, failure: Omit<OperationFailure, 'at'> | null) => void) {
    this.#failing = before;
    this.#save = save;
  }

  get failing(): Failing {
    return this.#failing;
  }

  /** Failures in a row in this process, and the instant of the last. */
  get failures(): { readonly count: number; readonly at: number | null } {
    return { count: this.#failures, at: this.#failed_at };
  }

  worked(at: Instant): void {
    this.#failing = notFailing;
    this.#failures = 0;
    this.#failed_at = null;
    this.#save(at, null);
  }

  failed(at: Instant, reason: string): void {
    this.#failing = { failure: reason, failing_since: this.#failing.failing_since ?? at };
    this.#failures += 1;
    this.#failed_at = at;
    this.#save(at, { affected: this.#failures, detail: reason });
  }
}
