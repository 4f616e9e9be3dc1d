import type { ConditionFacts } from './facts.rules.ts';
import { failureOf, type OperationKind } from './outcome.rules.ts';

/**
 * `error`: storefronts read outdated or wrong data, or work has stopped. `warning`: a person should look before it
 * comes to that.
 */
export type Severity = 'error' | 'warning';

/** A condition that holds now. `since` is null if the facts do not include it. */
export interface FoundCondition {
  readonly since: number | null;
  /** One clause without a full stop that states the problem, with its numbers. */
  readonly says: string;
  /** Default: that of its kind. */
  readonly severity?: Severity;
}

/** One row of the table: everything about a condition, whether it holds or not. */
export interface ConditionKind {
  /** One-word heading under which people see it. */
  readonly about: string;
  /** Headline in the present perfect, so that a duration can follow: `The service has been away` for 4 minutes. */
  readonly headline: string;
  readonly severity: Severity;
  /** Meaning, for the documents and alerts. */
  readonly means: string;
  /** Instruction for a person. Names in backticks are typed as they stand. */
  readonly todo: string;
  /**
   * Codes of the conditions that may be its cause: while one of them is shown, this one is folded into it, unless it
   * began before.
   */
  readonly depends_on?: readonly string[];
  /** True: its `since` is the last time that all was well, and so lies before any cause. */
  readonly since_last_good?: true;
  /** Time for which it must have lasted to be shown; default 0. */
  readonly visible_after_ms?: number;
  /** Returns the condition if it holds; null if it does not, or if the facts do not tell. */
  found(facts: ConditionFacts): FoundCondition | null;
}

/** A part of the table. */
export type ConditionKinds = Readonly<Record<string, ConditionKind>>;

export const minute = 60_000;

/** Codes of conditions that stop all reads. Freshness targets, fills and copies suffer from them. */
export const stopsReads = [
  'key-refused',
  'service-unreachable',
  'service-unusable',
  'service-pause',
  'answers-unusable',
  'mirror-lost',
  'mirror-damaged',
  'disk-full',
  'file-locked',
] as const;

/** Returns the `found` of a condition that holds while an operation fails. */
export function fails(
  operation: OperationKind,
  says: (affected: number, detail: string) => string,
): ConditionKind['found'] {
  return ({ outcomes }) => {
    const failure = failureOf(outcomes, operation);
    return failure === null ? null : { since: failure.failed_at, says: says(failure.affected, failure.detail ?? '') };
  };
}
