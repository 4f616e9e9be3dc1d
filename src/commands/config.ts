import { Command } from 'commander';
import { secretSources } from '../config/secrets.ts';
import { printDuration } from '../config/units.ts';
import {
  type Config,
  configKeys,
  configPath,
  jsonSchema,
  loadConfig,
  type Origin,
  type ParsedConfig,
  parseConfig,
} from '../config.ts';
import type { Io } from './io.ts';
import { table } from './table.ts';

export function configCommand(io: Io): Command {
  const command = new Command('config').description('Checks, shows or describes the configuration.');
  const file = (given: Command) => configPath(given.optsWithGlobals<{ config?: string }>().config, io.env);

  command
    .command('check')
    .description(
      'Says what is wrong with the configuration, all of it at once. Exit 0: nothing; 78: something; 77: a secret that others can read.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued --config catalogued.yaml config check\n  catalogued config check && systemctl reload catalogued',
    )
    .action((_: object, given: Command) => {
      const { config, secrets, warnings, file: name } = loadConfig({ file: file(given), env: io.env });
      for (const warning of warnings) io.stderr.write(`Warning: ${warning}\n`);
      io.stdout.write(
        `${name} is valid.\n${table(
          ['service', 'languages', 'currencies', 'key', 'mirror'],
          [
            [
              config.service.base_url,
              config.service.languages.join(' '),
              config.service.currencies.join(' '),
              secrets.api_key?.fingerprint ?? 'none',
              config.mirror.path,
            ],
          ],
        )}\n`,
      );
    });

  command
    .command('show')
    .description('Every key with its value and where it comes from; secrets as the first digits of their hash.')
    .option('--defaults', 'the defaults, without a configuration')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued config show | grep -v default\n  catalogued config show --defaults --json',
    )
    .action((options: { defaults?: boolean; json?: boolean }, given: Command) => {
      const rows = options.defaults
        ? rowsOf(parseConfig('service: { base_url: https://api.example.com }'))
        : withSecrets(file(given), io);
      if (options.json)
        io.stdout.write(
          `${JSON.stringify(Object.fromEntries(rows.map(([key, value, origin]) => [key, { value, origin }])), null, 2)}\n`,
        );
      else
        io.stdout.write(
          `${table(
            ['key', 'value', 'from'],
            rows.map(([key, value, origin]) => [key, print(value), origin]),
          )}\n`,
        );
    });

  command
    .command('schema')
    .description('The JSON Schema of the configuration, which gives an editor completion.')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued config schema > config.schema.json\n  # first line of catalogued.yaml: # yaml-language-server: $schema=config.schema.json',
    )
    .action(() => {
      io.stdout.write(printSchema());
    });
  return command;
}

/** As it stands in schema/config.schema.json. */
export function printSchema(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`;
}

type Row = readonly [key: string, value: unknown, origin: Origin | string];

function withSecrets(file: string, io: Io): Row[] {
  const loaded = loadConfig({ file, env: io.env });
  const secrets = Object.entries(secretSources).map(([name, { key, of }]): Row => {
    const secret = loaded.secrets[name as keyof typeof secretSources];
    return [
      `(${name})`,
      secret?.fingerprint ?? null,
      secret === null ? 'not set' : of(loaded.config) === null ? 'environment' : key,
    ];
  });
  return [...rowsOf(loaded), ...secrets];
}

function rowsOf({ config, origin }: ParsedConfig): Row[] {
  return configKeys().map((key) => [key, readable(key, setting(config, key)), origin(key)]);
}

function setting(config: Config, key: string): unknown {
  return key.split('.').reduce<unknown>((node, name) => (node as Record<string, unknown> | null)?.[name], config);
}

/** Durations and sizes as a person writes them. */
function readable(key: string, value: unknown): unknown {
  if (typeof value !== 'number') return value;
  if (/max_bytes|images\.disk/.test(key)) return `${value / 1024 ** 2}MiB`;
  return /^cadence\.(?!.*(days|horizon)$)|timeouts|every$|grace$|^retention/.test(key) ? printDuration(value) : value;
}

function print(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
