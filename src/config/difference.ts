import type { NamedAdapter } from '../domain/service/named-adapter.ts';
import type { Config } from './schema.ts';
import { type SecretName, type Secrets, secretSources } from './secrets.ts';

/** A configuration with its secrets, as it is in use. */
export interface InUse {
  readonly config: Config;
  readonly secrets: Secrets;
  adapter(): NamedAdapter;
}

/** Keys that a running daemon cannot change: its files, and the address at which `catalogued reload` finds it. */
export const restartKeys = ['mirror.path', 'mirror.state_dir', 'admin.listen'] as const;

/** Returns the keys whose values differ, lists as a whole, and the secrets and the adapter that do, by the key of their file. */
export function differenceOf(before: InUse, after: InUse): string[] {
  const old = leavesOf(before.config);
  const now = leavesOf(after.config);
  const keys = [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key) !== now.get(key));
  const names = Object.keys(secretSources) as SecretName[];
  const secrets = names.filter((name) => before.secrets[name]?.reveal() !== after.secrets[name]?.reveal());
  const adapter = before.adapter().hash === after.adapter().hash ? [] : ['the file of service.adapter'];
  return [...keys, ...secrets.map((name) => `the secret of ${secretSources[name].key}`), ...adapter];
}

function leavesOf(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path, JSON.stringify(value) ?? 'undefined']]);
  return new Map(
    Object.entries(value).flatMap(([name, each]) => [...leavesOf(each, path === '' ? name : `${path}.${name}`)]),
  );
}
