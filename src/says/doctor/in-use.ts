import type { LoadedConfig } from '../../config/load.ts';
import { type SecretName, secretSources } from '../../config/secrets.ts';
import type { ActiveCondition } from '../conditions/decide.rules.ts';
import type { ConditionCode } from '../conditions/table.rules.ts';
import { type Check, ok, skipped, wrong } from './check.ts';

const secretCheck = 'another secret';

/**
 * Returns a check that shows how each secret of a running daemon is changed: systemd reads a credential only at a
 * start.
 */
export function secretChanges({ placesOf }: LoadedConfig): Check {
  const names = Object.keys(secretSources) as SecretName[];
  const set = names.flatMap((secret) => placesOf(secret).slice(0, 1));
  if (set.length === 0) return skipped(secretCheck, 'none is set');
  return ok(
    secretCheck,
    set
      .map((place) => `${place.name}: by ${place.changes_by === 'reload' ? 'catalogued reload' : 'a restart'}`)
      .join(', '),
  );
}

/** Reason why a reload left the old configuration in use. */
interface RefusedReload {
  readonly message: string;
  readonly details: readonly string[];
  readonly hint: string | null;
}

/**
 * Returns a check if the last reload was refused, so that the daemon still runs with the old configuration; else none.
 */
export function lastReload(refused: RefusedReload | null): Check[] {
  if (refused === null) return [];
  const { message, details, hint } = refused;
  const advice = `${hint ?? 'mend the configuration'}; then catalogued reload`;
  return [wrong('last reload', `the old configuration stays: ${[message, ...details].join(' ')}`, advice)];
}

/** Conditions that a check asks about again, now: if it finds the problem, the condition is not listed again. */
const askedAgain: Readonly<Record<string, readonly ConditionCode[]>> = {
  service: ['service-unreachable', 'service-unusable', 'service-pause', 'key-refused'],
  receiver: ['receiver-unreachable'],
  clock: ['clock-off'],
  'time zones': ['zone-rules-differ'],
};

/** Returns a check for each condition that a running daemon shows and that none of the other checks has found. */
export function conditionChecks(conditions: readonly ActiveCondition[], others: readonly Check[]): Check[] {
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
