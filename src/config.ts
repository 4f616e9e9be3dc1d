import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { type ConfigDocument, describeIssues, readDocument } from './config/document.ts';
import { type Config, configSchema } from './config/schema.ts';
import { loadSecrets, type Secrets, secretSources } from './config/secrets.ts';
import { CataloguedError, exitCodes } from './errors.ts';

export type { Config } from './config/schema.ts';
export type { Secret, Secrets } from './config/secrets.ts';

/** Where a value comes from. */
export type Origin = 'default' | 'file' | 'environment';

type Env = Readonly<Record<string, string | undefined>>;

/** A configuration without its secrets. */
export interface ParsedConfig {
  readonly config: Config;
  /** Not wrong, and worth a look. */
  readonly warnings: readonly string[];
  /** Of a key like `cadence.images`. */
  origin(key: string): Origin;
}

export interface LoadedConfig extends ParsedConfig {
  readonly secrets: Secrets;
  readonly file: string;
}

/** The configuration file: `--config`, else $CATALOGUED_CONFIG, else /etc/catalogued/catalogued.yaml or ./catalogued.yaml. */
export function configPath(option: string | undefined, env: Env): string {
  const system = '/etc/catalogued/catalogued.yaml';
  return option ?? env.CATALOGUED_CONFIG ?? (existsSync(system) ? system : './catalogued.yaml');
}

/** Reads a configuration and its secrets. All problems at once: 78; a secret that others can read: 77. */
export function loadConfig({ file, env }: { file: string; env: Env }): LoadedConfig {
  const parsed = parseConfig(readText(file), env, file);
  return { ...parsed, file, secrets: loadSecrets(parsed.config, env) };
}

/** Reads a configuration without touching its secrets. `name` is what messages call it. */
export function parseConfig(text: string, env: Env = {}, name = 'the configuration'): ParsedConfig {
  const document = readDocument(text);
  if (document.problems.length > 0) throw invalid(name, document.problems);
  const overrides = readVariables(env);
  const merged = structuredClone(document.values);
  for (const { key, value } of overrides.values) assign(merged, key.split('.'), value);
  const result = configSchema.safeParse(merged);
  const problems = result.success ? [] : describeIssues(result.error.issues, document, configKeys());
  if (!result.success || overrides.unknown.length > 0) throw invalid(name, [...problems, ...overrides.unknown]);
  const config = result.data;
  const fromEnvironment = new Set(overrides.values.map(({ key }) => key));
  return {
    config,
    warnings: warningsOf(config),
    origin: (key) => (fromEnvironment.has(key) ? 'environment' : originOf(document, key)),
  };
}

/** Every key that a configuration can have, sections left out: `service.base_url`, `cadence.near.days` … */
export function configKeys(): string[] {
  return leafKeys(jsonSchema() as Node, []);
}

/** The JSON Schema of a configuration file. */
export function jsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
  return { $schema, title: 'Configuration of catalogued', ...schema };
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
}

function leafKeys(node: Node, path: readonly string[]): string[] {
  if (node.properties === undefined) return [path.join('.')];
  return Object.entries(node.properties).flatMap(([name, child]) => leafKeys(child, [...path, name]));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EACCES') {
      throw new CataloguedError('permission', `cannot read the configuration ${file}: permission denied`, {
        exitCode: exitCodes.permission,
        hint: `chmod u+r ${file}`,
      });
    }
    throw new CataloguedError('configuration', `there is no configuration at ${file}`, {
      exitCode: exitCodes.configuration,
      hint: 'name one with --config FILE; config/catalogued.yaml shows every key, and catalogued demo needs none',
    });
  }
}

function invalid(name: string, problems: readonly string[]): CataloguedError {
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  return new CataloguedError('configuration', `${name} has ${count}:`, {
    exitCode: exitCodes.configuration,
    details: problems,
    hint: 'mend what is named; config/catalogued.yaml shows every key with its default',
  });
}

const secretVariables = new Set<string>([
  ...Object.values(secretSources).map(({ variable }) => variable),
  'CATALOGUED_CONFIG',
]);

/** `CATALOGUED_SERVICE__BASE_URL` sets `service.base_url`: two underscores are a dot. Values are YAML scalars, lists take commas. */
function readVariables(env: Env): { values: { key: string; value: unknown }[]; unknown: string[] } {
  const names = Object.keys(env).filter(
    (name) => name.startsWith('CATALOGUED_') && !secretVariables.has(name) && !name.startsWith('CATALOGUED_TEST_'),
  );
  if (names.length === 0) return { values: [], unknown: [] };
  const keys = new Map(configKeys().map((key) => [`CATALOGUED_${key.toUpperCase().replaceAll('.', '__')}`, key]));
  const values: { key: string; value: unknown }[] = [];
  const unknown: string[] = [];
  for (const name of names) {
    const key = keys.get(name);
    if (key === undefined)
      unknown.push(`${name}: unknown variable; expected CATALOGUED_ and a key in upper case, with __ for each dot`);
    else values.push({ key, value: scalar(env[name] ?? '', key) });
  }
  return { values, unknown };
}

function scalar(text: string, key: string): unknown {
  const value = readDocument(text).values;
  const list = [
    'languages',
    'currencies',
    'sizes',
    'hosts',
    'allow',
    'trusted_proxies',
    'statuses',
    'product_ids',
  ].some((name) => key.endsWith(name));
  if (list && typeof value !== 'object') return text.split(',').map((each) => readDocument(each.trim()).values);
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? '' : value;
}

function assign(target: unknown, path: readonly string[], value: unknown): void {
  let node = target as Record<string, unknown>;
  for (const name of path.slice(0, -1)) {
    if (typeof node[name] !== 'object' || node[name] === null) node[name] = {};
    node = node[name] as Record<string, unknown>;
  }
  node[path.at(-1) ?? ''] = value;
}

function originOf({ values }: ConfigDocument, key: string): Origin {
  let node: unknown = values;
  for (const name of key.split('.')) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, name)) return 'default';
    node = (node as Record<string, unknown>)[name];
  }
  return 'file';
}

function warningsOf({ service }: Config): string[] {
  const { protocol, hostname } = new URL(service.base_url);
  const loopback = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
  return protocol === 'http:' && !loopback
    ? [`service.base_url is ${service.base_url}: the key goes over the network unencrypted`]
    : [];
}
