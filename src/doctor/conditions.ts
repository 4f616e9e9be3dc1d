import type { HeldCondition } from '../domain/conditions/decide.ts';
import type { ConditionCode } from '../domain/conditions/table.ts';
import { type Check, ok, wrong } from './check.ts';

/** Conditions that a check asks about again, now: if it finds the problem, the condition is not listed again. */
const askedAgain: Readonly<Record<string, readonly ConditionCode[]>> = {
  service: ['service-unreachable', 'service-unusable', 'service-pause', 'key-refused'],
  receiver: ['receiver-unreachable'],
  clock: ['clock-off'],
  'time zones': ['zone-rules-differ'],
};

/** Returns a check for each condition that a running daemon shows and that none of the other checks has found. */
export function conditionChecks(conditions: readonly HeldCondition[], others: readonly Check[]): Check[] {
  const wrongOnes = others.filter(({ verdict }) => verdict === 'wrong');
  const found = new Set(wrongOnes.flatMap(({ name }) => askedAgain[name] ?? []));
  return conditions
    .filter(({ code }) => !found.has(code))
    .map(({ code, severity, says, todo, acknowledged }) =>
      acknowledged !== null && severity === 'warning'
        ? ok(code, `${says}. Acknowledged: ${acknowledged}`)
        : wrong(code, says, todo),
    );
}
