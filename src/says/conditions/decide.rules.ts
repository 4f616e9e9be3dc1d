import { z } from 'zod';
import { maybe, never, type Shaped, text } from '../../kernel/values/answer-values.ts';
import { type ConditionKind, type FoundCondition, minute, type Severity } from './condition.rules.ts';
import type { ConditionFacts } from './facts.rules.ts';
import { type ConditionCode, conditionCodes, conditionTable, todoOf } from './table.rules.ts';

/** A condition that holds, as every interface shows it. */
export const activeCondition = z.object({
  code: z.enum(conditionCodes),
  about: text,
  severity: z.enum(['error', 'warning']),
  /** Null if not known, because no daemon has watched. */
  since: never,
  says: text,
  todo: text,
  /** Conditions that hold too and have this one as their cause. They are not shown by themselves. */
  explains: z.array(z.enum(conditionCodes)),
  /** Reason given by the person who acknowledged it until it ends; null if nobody has. */
  acknowledged: maybe,
});
export type ActiveCondition = Shaped<typeof activeCondition>;

/** Periods of the conditions that have not ended: what a daemon keeps from one inspection to the next. */
export interface Periods {
  /** Instant since which each condition has been met without interruption, shown or not. */
  readonly met: ReadonlyMap<ConditionCode, number>;
  /** Reasons for which conditions were acknowledged. */
  readonly acknowledged: ReadonlyMap<ConditionCode, string>;
  /** Conditions shown at the last inspection. As long as they are met they are shown at once. */
  readonly shown: ReadonlySet<ConditionCode>;
}

export const noPeriods: Periods = { met: new Map(), acknowledged: new Map(), shown: new Set() };

interface Met extends FoundCondition {
  readonly code: ConditionCode;
  readonly kind: ConditionKind;
  readonly severity: Severity;
}

/** Returns the conditions to show: those that have lasted long enough and are not folded into their cause. */
export function conditionsOf(facts: ConditionFacts, periods: Periods = noPeriods): ActiveCondition[] {
  const { acknowledged } = periods;
  const lasting = allMet(facts, periods).filter((each) => shownFrom(each, periods) <= facts.at);
  const roots = rootsOf(lasting);
  return lasting
    .filter(({ code }) => !roots.has(code))
    .map(({ code, kind: { about }, severity, since, says }) => {
      const explains = lasting.filter((each) => roots.get(each.code) === code);
      return {
        code,
        about,
        // As severe as the worst of its consequences.
        severity: explains.some((each) => each.severity === 'error') ? 'error' : severity,
        since,
        says,
        todo: todoOf(code),
        explains: explains.map((each) => each.code),
        acknowledged: acknowledged.get(code) ?? null,
      };
    });
}

/** Returns the instant since which each condition has been met, shown or not, for the next inspection. */
export function metSince(facts: ConditionFacts, periods: Periods): Map<ConditionCode, number> {
  return new Map(allMet(facts, periods).map(({ code, since }) => [code, since ?? facts.at]));
}

/** Returns when the next condition that is met but has not lasted long enough will be shown; null if there is none. */
export function nextShownAt(facts: ConditionFacts, periods: Periods): number | null {
  const later = allMet(facts, periods).map((each) => shownFrom(each, periods));
  const next = Math.min(...later.filter((at) => at > facts.at));
  return Number.isFinite(next) ? next : null;
}

/** Returns the instant from which a condition is shown; infinite if it is not known since when it has been met. */
function shownFrom({ code, kind: { visible_after_ms = 0 }, since }: Met, { shown }: Periods): number {
  if (visible_after_ms === 0 || shown.has(code)) return Number.NEGATIVE_INFINITY;
  return since === null ? Number.POSITIVE_INFINITY : since + visible_after_ms;
}

function allMet(facts: ConditionFacts, { met, shown }: Periods): Met[] {
  return conditionCodes.flatMap((code) => {
    const kind = conditionTable[code];
    const found = kind.found(facts);
    if (found === null) return [];
    const before = met.get(code) ?? null;
    // A condition that is shown goes on, even if its facts now come from elsewhere or from another process.
    const goesOn = shown.has(code) && found.since !== null && before !== null;
    const since = goesOn ? Math.min(found.since, before) : (found.since ?? before);
    const { severity = kind.severity, says } = found;
    return [{ code, kind, severity, says, since }];
  });
}

/** Longest time by which the beginning of a cause may be seen after that of its effect: each is seen at an inspection. */
const seenLateMs = minute;

/** Returns whether one condition began early enough to be the cause of another. */
function mayCause(cause: Met, { since, kind }: Met): boolean {
  if (cause.since === null || since === null || kind.since_last_good === true) return true;
  return cause.since - since <= seenLateMs;
}

/** Returns the root cause of each condition that has one, by code. */
function rootsOf(held: readonly Met[]): Map<ConditionCode, ConditionCode> {
  const byCode = new Map<string, Met>(held.map((each) => [each.code, each]));
  const causeOf = (effect: Met) =>
    (effect.kind.depends_on ?? [])
      .map((code) => byCode.get(code))
      .find((each) => each !== undefined && mayCause(each, effect));
  return new Map(
    held.flatMap((each) => {
      let root = causeOf(each);
      for (let above = root; above !== undefined; above = causeOf(above)) root = above;
      return root === undefined ? [] : [[each.code, root.code] as const];
    }),
  );
}
