import type { ConditionKind, FoundCondition, Severity } from './condition.ts';
import type { ConditionFacts } from './facts.ts';
import { type ConditionCode, conditionCodes, conditionTable, todoOf } from './table.ts';

/** A condition that holds, as everybody shows it. */
export interface HeldCondition {
  readonly code: ConditionCode;
  readonly about: string;
  readonly severity: Severity;
  /** Null: not known, because no daemon has watched. */
  readonly since: number | null;
  readonly says: string;
  readonly todo: string;
  /** Conditions that hold too, and have this one as their cause: none of them is shown by itself. */
  readonly explains: readonly ConditionCode[];
  /** Why a person has acknowledged it until it ends; null: nobody has. */
  readonly acknowledged: string | null;
}

/** What a daemon remembers from one look to the next. */
export interface Memory {
  /** Since when each condition has been met without interruption, shown or not. */
  readonly met: ReadonlyMap<ConditionCode, number>;
  /** Why conditions were acknowledged. */
  readonly acknowledged: ReadonlyMap<ConditionCode, string>;
  /** Those that were shown at the last look: as long as they are met they need not last again. */
  readonly shown: ReadonlySet<ConditionCode>;
}

export const noMemory: Memory = { met: new Map(), acknowledged: new Map(), shown: new Set() };

interface Met extends FoundCondition {
  readonly code: ConditionCode;
  readonly kind: ConditionKind;
  readonly severity: Severity;
}

/** Decides which conditions are shown: those that have lasted long enough, and are not folded into their cause. */
export function conditionsOf(facts: ConditionFacts, now: number, memory: Memory = noMemory): HeldCondition[] {
  const { acknowledged } = memory;
  const lasting = allMet(facts, now, memory).filter((each) => shownFrom(each, memory) <= now);
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

/** Returns since when each condition has been met, for the next look: also of those that are not shown yet. */
export function metSince(facts: ConditionFacts, now: number, memory: Memory): Map<ConditionCode, number> {
  return new Map(allMet(facts, now, memory).map(({ code, since }) => [code, since ?? now]));
}

/** Returns when the next of the conditions that are met, and have not lasted long enough, is to be shown; null: there is none. */
export function nextShownAt(facts: ConditionFacts, now: number, memory: Memory): number | null {
  const later = allMet(facts, now, memory).map((each) => shownFrom(each, memory));
  const next = Math.min(...later.filter((at) => at > now));
  return Number.isFinite(next) ? next : null;
}

/** Returns from when on a condition is shown; infinite where nobody knows since when it has been met. */
function shownFrom({ code, kind: { visible_after_ms = 0 }, since }: Met, { shown }: Memory): number {
  if (visible_after_ms === 0 || shown.has(code)) return Number.NEGATIVE_INFINITY;
  return since === null ? Number.POSITIVE_INFINITY : since + visible_after_ms;
}

function allMet(facts: ConditionFacts, now: number, { met, shown }: Memory): Met[] {
  return conditionCodes.flatMap((code) => {
    const kind = conditionTable[code];
    const found = kind.found(facts, now);
    if (found === null) return [];
    const before = met.get(code) ?? null;
    // One that is shown goes on, also where its facts come from somewhere else by now, or from another process.
    const goesOn = shown.has(code) && found.since !== null && before !== null;
    const since = goesOn ? Math.min(found.since, before) : (found.since ?? before);
    const { severity = kind.severity, says } = found;
    return [{ code, kind, severity, says, since }];
  });
}

/** Returns the root cause of each condition that has one, by code. */
function rootsOf(held: readonly Met[]): Map<ConditionCode, ConditionCode> {
  const byCode = new Map<string, Met>(held.map((each) => [each.code, each]));
  const causeOf = ({ kind }: Met) =>
    (kind.depends_on ?? []).map((code) => byCode.get(code)).find((each) => each !== undefined);
  return new Map(
    held.flatMap((each) => {
      let root = causeOf(each);
      for (let above = root; above !== undefined; above = causeOf(above)) root = above;
      return root === undefined ? [] : [[each.code, root.code] as const];
    }),
  );
}
