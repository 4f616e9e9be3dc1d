import type { Severity } from '../domain/conditions/condition.ts';
import { conditionsOf, type HeldCondition } from '../domain/conditions/decide.ts';
import type { StatusFacts } from '../domain/conditions/facts.ts';
import { duration, number } from '../format.ts';

/** Verdict on whether storefronts read correct data, shared by `status`, `/metrics` and the page. */
export interface StatusVerdict {
  /** `filling`: some records were never read, so nothing is known about them. */
  readonly state: 'true' | 'filling' | 'broken';
  /** The worst severity of the conditions that count, also while it fills; null: there are none. */
  readonly severity: Severity | null;
  /** Reasons why the state is not `true`, each a sentence; empty if it is. */
  readonly reasons: readonly string[];
}

/** Facts on which the verdict is based, beside the conditions. */
export type JudgedStatus = {
  readonly filled_at: number | null;
  readonly records: { readonly all: number; readonly never_fetched: number };
  readonly conditions: readonly HeldCondition[];
};

/**
 * Returns the verdict. An acknowledged warning does not count: somebody knows about it, and no freshness target is missed. An
 * acknowledged error does.
 */
export function verdictOf({ filled_at, records, conditions }: JudgedStatus, now: number): StatusVerdict {
  const counted = countedIn(conditions);
  const severity = counted[0]?.severity ?? null;
  const reasons = counted.map((each) => `${each.about}: ${conditionSays(each, now)}`);
  if (filled_at !== null) return { state: reasons.length === 0 ? 'true' : 'broken', severity, reasons };
  const filling =
    records.all === 0
      ? 'The product list has not been read yet'
      : `${number(records.never_fetched)} of ${number(records.all)} ${records.all === 1 ? 'record' : 'records'} ${records.never_fetched === 1 ? 'has' : 'have'} never been read`;
  return { state: 'filling', severity, reasons: [filling, ...reasons] };
}

/** Returns the conditions that count, errors first. */
export function countedIn(conditions: readonly HeldCondition[]): HeldCondition[] {
  const counted = conditions.filter(({ severity, acknowledged }) => severity === 'error' || acknowledged === null);
  return counted.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));
}

/** Returns the problem, its duration and the instruction for it, without the heading. */
export function conditionSays(condition: HeldCondition, now: number): string {
  return `${problemOf(condition, now)} ${condition.todo}.${acknowledgement(condition)}`;
}

/** Returns the problem and its duration, as a sentence. */
export function problemOf({ since, says, explains }: HeldCondition, now: number): string {
  const lasts = since === null ? '' : ` (for ${duration(now - since)})`;
  const folded = explains.length === 0 ? '' : `, hence ${explains.join(', ')}`;
  return `${says}${lasts}${folded}.`;
}

/** Returns the reason for which somebody acknowledged it, after a space; empty if nobody did. */
export function acknowledgement({ acknowledged }: HeldCondition): string {
  return acknowledged === null ? '' : ` Acknowledged: ${acknowledged}.`;
}

/** Adds to a status the conditions that hold according to the status alone. */
export function withConditions<Status extends StatusFacts>(
  status: Status,
  now: number,
): Status & { readonly conditions: readonly HeldCondition[] } {
  return { ...status, conditions: conditionsOf({ ...status, at: now, watched: null, tried: null }) };
}
