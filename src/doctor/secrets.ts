import type { LoadedConfig } from '../config/load.ts';
import { type SecretName, secretSources } from '../config/secrets.ts';
import { type Check, ok, skipped } from './check.ts';

const name = 'another secret';

/** Tells how each secret of a running daemon is changed: systemd reads a credential at a start alone. */
export function secretChanges({ placesOf }: Pick<LoadedConfig, 'placesOf'>): Check {
  const names = Object.keys(secretSources) as SecretName[];
  const set = names.flatMap((secret) => placesOf(secret).slice(0, 1));
  if (set.length === 0) return skipped(name, 'none is set');
  return ok(
    name,
    set
      .map((place) => `${place.name}: by ${place.changes_by === 'reload' ? 'catalogued reload' : 'a restart'}`)
      .join(', '),
  );
}
