import type { ConditionFacts } from './facts.ts';

/**
 * `error`: what storefronts read is not as promised, or work has stopped. `warning`: a person should look before it comes
 * to that.
 */
export type Severity = 'error' | 'warning';

/** What holds of a condition now. `since` null: the facts do not say. */
export interface FoundCondition {
  readonly since: number | null;
  /** One clause without a full stop: what is wrong, with its numbers. */
  readonly says: string;
  /** Left out: that of its kind. */
  readonly severity?: Severity;
}

/** One row of the table: all that is known of a condition, whether it holds or not. */
export interface ConditionKind {
  /** The heading of one word under which people see it. */
  readonly about: string;
  readonly severity: Severity;
  /** For the documents and alerts: what it means. */
  readonly means: string;
  /** What to do about it. Names in backticks are typed as they stand. */
  readonly todo: string;
  /** Codes of the conditions that may be its cause: while one of them is shown, this one is folded into it. */
  readonly depends_on?: readonly string[];
  /** How long it must have lasted to be shown; left out: not at all, or whoever notes it has waited. */
  readonly visible_after_ms?: number;
  /** Says whether it holds; null: it does not, or the facts do not tell. */
  found(facts: ConditionFacts, now: number): FoundCondition | null;
}

/** A part of the table. */
export type ConditionKinds = Readonly<Record<string, ConditionKind>>;

export const minute = 60_000;

/** Codes of what stops all reads: promises, fills and copies suffer from it. */
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

/** Returns the `found` of a condition that a part of the daemon notes when it meets it. */
export function noted(code: string, says: (products: number) => string): ConditionKind['found'] {
  return ({ alarms }) => {
    const met = alarms.find(({ kind }) => kind === code);
    return met === undefined ? null : { since: met.raised_at, says: says(met.products) };
  };
}
