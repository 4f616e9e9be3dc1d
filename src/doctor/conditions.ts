import type { HeldCondition } from '../domain/conditions/decide.ts';
import type { ConditionCode } from '../domain/conditions/table.ts';
import { type Check, ok, wrong } from './check.ts';

/**
 * Conditions that one of the other checks covers too. If that check has found the problem, the condition is not listed
 * again.
 */
const alsoChecked: Readonly<Partial<Record<ConditionCode, string>>> = {
  'mirror-lost': 'open mirror',
  'mirror-damaged': 'open mirror',
  'inbox-lost': 'open inbox',
  'inbox-damaged': 'open inbox',
  'disk-low': 'disk space',
  'service-unreachable': 'service',
  'service-unusable': 'service',
  'service-pause': 'service',
  'key-refused': 'service',
  'receiver-unreachable': 'receiver',
  'clock-off': 'clock',
};

/** Returns a check for each condition that a running daemon shows and that none of the other checks has found. */
export function conditionChecks(conditions: readonly HeldCondition[], others: readonly Check[]): Check[] {
  const found = new Set(others.filter(({ verdict }) => verdict === 'wrong').map(({ name }) => name));
  return conditions
    .filter(({ code }) => !found.has(alsoChecked[code] ?? ''))
    .map(({ code, severity, says, todo, acknowledged }) =>
      acknowledged !== null && severity === 'warning'
        ? ok(code, `${says}. Acknowledged: ${acknowledged}`)
        : wrong(code, says, todo),
    );
}
