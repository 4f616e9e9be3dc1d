import type { Failing } from '../../files/failing.rules.ts';

/** An operation whose last result is stored, because no other stored fact tells it. */
export type OperationKind =
  | 'backup'
  | 'restore-drill'
  | 'snapshot'
  | 'clock'
  | 'zone-rules'
  | 'live-checks'
  | 'image-list'
  | 'image-disk'
  | 'date-cap'
  | 'callback-address'
  | 'subscription-address';

/** Last result of an operation. */
export interface OperationOutcome {
  readonly operation: string;
  /** Instant at which it last worked, as far as that was recorded; null: never. */
  readonly last_ok_at: number | null;
  /** Instant of the first failure since it last worked; null: it works. */
  readonly failed_at: number | null;
  /** Instant of the newest failure; null: it works. */
  readonly noticed_at: number | null;
  /** Number of products, calls or attempts that fail. */
  readonly affected: number;
  /** Reason; null: the operation says it all. */
  readonly detail: string | null;
}

/** Returns the outcome of an operation if it fails; null if it works, or was never recorded. */
export function failureOf(
  outcomes: readonly OperationOutcome[],
  operation: OperationKind,
): (OperationOutcome & { failed_at: number }) | null {
  const found = outcomes.find((each) => each.operation === operation);
  return found === undefined || found.failed_at === null ? null : { ...found, failed_at: found.failed_at };
}

/** Returns the failure of an operation in the form of its status. */
export function failingOf(outcomes: readonly OperationOutcome[], operation: OperationKind): Failing {
  const found = failureOf(outcomes, operation);
  return { failure: found?.detail ?? null, failing_since: found?.failed_at ?? null };
}
