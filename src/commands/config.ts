import { Command } from 'commander';
import { configKeys, jsonSchema, type SettingKind } from '../config/json-schema.ts';
import { type Config, type LoadedConfig, type ParsedConfig, parseConfig } from '../config/load.ts';
import type { SecretName } from '../config/secrets.ts';
import { printDuration, printSize } from '../config/units.ts';
import { fullConfigurationFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { table, widthOf } from './terminal/table.ts';

/** Builds `config check`, `config show` and `config schema`. */
export function configCommand(io: Io): Command {
  const command = new Command('config')
    .description('Checks, shows or describes the configuration.')
    .addHelpText('after', '\nExamples:\n  catalogued config check\n  catalogued config show --defaults');
  command
    .command('check')
    .description(
      'Lists every problem of the configuration at once. Exit 0: valid; 78: it has problems; 77: others can read a secret.',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued --config catalogued.yaml config check\n  catalogued config check && systemctl reload catalogued',
    )
    .action((options: { json?: boolean }, given: Command) => {
      const facts = factsOf(fullConfigurationFor(io, given));
      if (options.json) {
        io.stdout.write(`${JSON.stringify(facts, null, 2)}\n`);
        return;
      }
      for (const warning of facts.warnings) io.stderr.write(`Warning: ${warning}\n`);
      const { file, service, languages, currencies, key, mirror } = facts;
      const row = [service, languages.join(' '), currencies.join(' '), key ?? 'none', mirror];
      io.stdout.write(
        `${file ?? 'the environment'} is valid.\n${table(['service', 'languages', 'currencies', 'key', 'mirror'], [row], widthOf(io))}\n`,
      );
    });

  command
    .command('show')
    .description(
      'Prints every key with its value and where the value comes from; secrets only as the first digits of their hash.',
    )
    .option('--defaults', 'print the defaults; needs no configuration')
    .option('--json', 'print JSON: {key: {value, origin}}')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued config show | grep -v default\n  catalogued config show --defaults --json',
    )
    .action((options: { defaults?: boolean; json?: boolean }, given: Command) => {
      const rows = options.defaults ? defaults() : everything(fullConfigurationFor(io, given));
      const object = Object.fromEntries(rows.map(({ key, value, origin }) => [key, { value, origin }]));
      const lines = rows.map(({ key, value, origin }) => [
        key,
        typeof value === 'string' ? value : JSON.stringify(value),
        origin,
      ]);
      print(io, options, object, () => `${table(['key', 'value', 'from'], lines, widthOf(io))}\n`);
    });

  command
    .command('schema')
    .description('Prints the JSON Schema of the configuration, which gives editors completion.')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued config schema > config.schema.json\n  # line 1: # yaml-language-server: $schema=config.schema.json',
    )
    .action(() => {
      io.stdout.write(printSchema());
    });
  return command;
}

/** Returns the text of schema/config.schema.json. */
export function printSchema(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`;
}

function factsOf({ config, secrets, warnings, file }: LoadedConfig) {
  const { base_url, languages, currencies } = config.service;
  const key = secrets.api_key?.fingerprint ?? null;
  return { file, service: base_url, languages, currencies, key, mirror: config.mirror.path, warnings };
}

interface Row {
  readonly key: string;
  readonly value: unknown;
  readonly origin: string;
}

function defaults(): Row[] {
  const example = parseConfig('service: { base_url: https://api.example.com }');
  return settings(example).map((row) =>
    row.key === 'service.base_url' ? { ...row, value: null, origin: 'required' } : row,
  );
}

/** Returns every key and every secret, with where it comes from; a secret is the first digits of its hash. */
export function everything(loaded: LoadedConfig): Row[] {
  const secrets = Object.entries(loaded.secrets).map(([name, secret]): Row => {
    const [origin = 'not set', ...passedOver] = loaded.placesOf(name as SecretName).map((place) => place.name);
    const also = passedOver.length === 0 ? '' : `; not ${passedOver.join(', ')}`;
    return { key: `(${name})`, value: secret?.fingerprint ?? null, origin: `${origin}${also}` };
  });
  return [...settings(loaded), ...secrets];
}

/** Returns every key with its value as a person would write it, and where it comes from. */
export function settings({ config, origin }: ParsedConfig): Row[] {
  const keys = configKeys();
  const known = new Set(keys.map(({ name }) => name));
  const filters = Object.keys(config.service.select)
    .map((name) => `service.select.${name}`)
    .filter((name) => !known.has(name));
  const extra = filters.map((name) => ({ name, kind: 'list' as const }));
  return [...keys, ...extra].map(({ name, kind }) => ({
    key: name,
    value: readable(valueAt(config, name), kind),
    origin: origin(name),
  }));
}

function valueAt(config: Config, key: string): unknown {
  return key.split('.').reduce<unknown>((node, name) => (node as Record<string, unknown> | null)?.[name], config);
}

/** Returns a value as a person would write it. */
function readable(value: unknown, kind: SettingKind): unknown {
  if (typeof value !== 'number') return value;
  return kind === 'duration' ? printDuration(value) : kind === 'size' ? printSize(value) : value;
}
