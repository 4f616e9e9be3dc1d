import { existsSync, readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { NamedAdapter } from '../service/named-adapter.rules.ts';
import { AdapterRefused, loadAdapter } from './adapter.ts';
import { type ConfigDocument, type Problem, readDocument } from './document.ts';
import { type Env, readVariables, type Setting } from './environment.ts';
import { problemsOf } from './problems.ts';
import { type Config, configSchema } from './schema.ts';
import {
  type RefusedSecret,
  refusedSecrets,
  type SecretName,
  type SecretPlace,
  type Secrets,
  secretPlaces,
  secretsOf,
} from './secrets.ts';
import { warningsOf } from './warnings.ts';
import { writtenByOthers } from './written-by-others.ts';

export type { Config } from './schema.ts';
export type { Secret, Secrets } from './secrets.ts';

/** Source of a value. */
export type Origin = 'default' | 'file' | 'environment';

/** A configuration without its secrets. */
export interface ParsedConfig {
  readonly config: Config;
  /** Warnings: allowed settings that deserve a second look. */
  readonly warnings: readonly string[];
  /** Returns the adapter of `service.adapter`: loaded when it is first asked for, and refused then (78). */
  adapter(): NamedAdapter;
  /** Of a key like `cadence.images`. */
  origin(key: string): Origin;
}

export interface LoadedConfig extends ParsedConfig {
  /** Each is read when it is asked for, and refused then (`loadWholeConfig` asks for all). */
  readonly secrets: Secrets;
  /** The places at which a secret is set: the first counts. Empty: nowhere. */
  placesOf(name: SecretName): SecretPlace[];
  /** Null where the environment alone configures. */
  readonly file: string | null;
}

/**
 * Returns the configuration file: `--config`, else $CATALOGUED_CONFIG, else /etc/catalogued/catalogued.yaml if it
 * exists, else ./catalogued.yaml.
 */
export function configPath(option: string | undefined, env: Env): string {
  const system = '/etc/catalogued/catalogued.yaml';
  return option ?? env.CATALOGUED_CONFIG ?? (existsSync(system) ? system : './catalogued.yaml');
}

interface Place {
  readonly file: string | null;
  readonly env: Env;
}

/** Reads a configuration. Wrong values are reported all at once, one line each in `details` (78). */
export function loadConfig(place: Place): LoadedConfig {
  return load(place, () => []);
}

/**
 * Reads a configuration with every secret that it needs. Wrong values and unusable secrets are reported together (78; 77
 * where all of them are matters of permission).
 */
export function loadWholeConfig(place: Place): LoadedConfig {
  return load(place, (values) => [...refusedSecrets(values, place.env), ...refusedAdapter(values)]);
}

/** Returns the problems of the files that values name. The values are not checked yet. */
type LookAtFiles = (values: unknown) => readonly RefusedSecret[];

function load({ file, env }: Place, look: LookAtFiles): LoadedConfig {
  const document = readDocument(file === null ? '' : readText(file));
  const parsed = resolveConfig(document, env, file ?? 'the environment', look);
  const { config } = parsed;
  return { ...parsed, file, secrets: secretsOf(config, env), placesOf: (name) => secretPlaces(name, config, env) };
}

/** Reads a configuration without touching its secrets. `name` is what messages call it. */
export function parseConfig(text: string, env: Env = {}, name = 'the configuration'): ParsedConfig {
  return resolveConfig(readDocument(text), env, name);
}

function resolveConfig(document: ConfigDocument, env: Env, name: string, look: LookAtFiles = () => []): ParsedConfig {
  const { settings, problems } = readVariables(env);
  const unreadable = document.values === undefined;
  const values = unreadable ? {} : overlaid(document.values, settings);
  const result = configSchema.safeParse(values);
  const refusedFiles = unreadable ? [] : look(values);
  const wellFormed = result.success && document.problems.length + problems.length === 0;
  const [only] = refusedFiles;
  const variableOf = (key: string) =>
    settings.find((setting) => key === setting.key || key.startsWith(`${setting.key}.`))?.variable ?? null;
  const lineOf = (key: string) => (variableOf(key) === null ? document.lineOf(key.split('.')) : null);
  if (wellFormed && only === undefined) {
    const set = new Set(settings.map(({ key }) => key));
    const { adapter } = result.data.service;
    return {
      config: result.data,
      warnings: warningsOf(result.data),
      adapter: once(() => {
        const [refused] = refusedAdapter({ service: { adapter } });
        if (refused === undefined) return loadAdapter(adapter);
        const { key, error } = refused;
        if (hasHint(refused)) throw error;
        throw invalid(name, [{ line: lineOf(key), text: error.message }], false);
      }),
      origin: (key) => (set.has(key) ? 'environment' : isWritten(document.values, key) ? 'file' : 'default'),
    };
  }
  if (wellFormed && only !== undefined && refusedFiles.length === 1 && hasHint(only)) throw only.error;
  // If the YAML does not parse, only that is reported.
  const refused = unreadable || result.success ? [] : problemsOf(result.error.issues, values, document, variableOf);
  const unusable = refusedFiles.map(({ key, error: { message, hint } }) => ({
    line: lineOf(key),
    text: hint === undefined ? message : `${message} (${hint})`,
  }));
  const onlyPermissions = wellFormed && refusedFiles.every(({ error }) => error.exitCode === exitCodes.permission);
  throw invalid(name, [...document.problems, ...refused, ...problems, ...unusable], onlyPermissions);
}

/** Returns whether a problem says by itself what to do, as those of secrets and modes do. */
function hasHint({ error }: RefusedSecret): boolean {
  return error.hint !== undefined;
}

const adapterKey = 'service.adapter';

/** Returns why the adapter that values name cannot be used, in at most one problem. */
function refusedAdapter(values: unknown): RefusedSecret[] {
  const file = isSection(values) && isSection(values.service) ? values.service.adapter : null;
  try {
    if (typeof file === 'string' && file !== '') loadAdapter(file);
    return [];
  } catch (error) {
    if (error instanceof CataloguedError) return [{ key: adapterKey, error }];
    if (!(error instanceof AdapterRefused)) throw error;
    const { configuration: exitCode } = exitCodes;
    return [
      { key: adapterKey, error: new CataloguedError('configuration', `${adapterKey}: ${error.message}`, { exitCode }) },
    ];
  }
}

function once<Value>(load: () => Value): () => Value {
  let known: { readonly value: Value } | null = null;
  return () => {
    known ??= { value: load() };
    return known.value;
  };
}

function invalid(name: string, problems: readonly Problem[], onlyPermissions: boolean): CataloguedError {
  // Those without a line come last.
  const sorted = problems.toSorted((a, b) => (a.line ?? Infinity) - (b.line ?? Infinity) || 0);
  return new CataloguedError(
    onlyPermissions ? 'permission' : 'configuration',
    `${name} has ${sorted.length === 1 ? 'a problem' : `${sorted.length} problems`}:`,
    {
      exitCode: onlyPermissions ? exitCodes.permission : exitCodes.configuration,
      details: sorted.map(({ line, text }) => (line === null ? text : `line ${line}: ${text}`)),
      hint: 'fix the problems listed above; catalogued config show --defaults lists every key with its default',
    },
  );
}

function readText(file: string): string {
  const refused = writtenByOthers(file, 'the configuration');
  if (refused !== null) throw refused;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EACCES' || code === 'EPERM')
      throw new CataloguedError('permission', `cannot read the configuration ${file}: permission denied`, {
        exitCode: exitCodes.permission,
        hint: `chmod u+r ${file}`,
      });
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    throw new CataloguedError(
      'configuration',
      missing ? `there is no configuration at ${file}` : `cannot read the configuration ${file}: ${code}`,
      {
        exitCode: exitCodes.configuration,
        hint: 'pass one with --config FILE; catalogued config show --defaults lists every key, and catalogued demo needs none',
      },
    );
  }
}

function overlaid(values: unknown, settings: readonly Setting[]): unknown {
  if (!isSection(values)) return values;
  // An absent section is as good as an empty one: what is missing in it is named.
  const merged: Record<string, unknown> = structuredClone({ ...values, service: values.service ?? {} });
  for (const { key, value } of settings) assign(merged, key.split('.'), value);
  return merged;
}

function assign(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let node = target;
  for (const name of path.slice(0, -1)) {
    const child = node[name];
    const next = isSection(child) ? child : {};
    node[name] = next;
    node = next;
  }
  node[path.at(-1) ?? ''] = value;
}

function isWritten(values: unknown, key: string): boolean {
  let node: unknown = values;
  for (const name of key.split('.')) {
    if (!isSection(node) || !Object.hasOwn(node, name)) return false;
    node = node[name];
  }
  return true;
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
