import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { parseConfig } from '../../config/load.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../../kernel/errors.ts';
import { makeDirectory } from '../../kernel/sqlite/make-directory.ts';
import { packageRoot } from '../../package.ts';
import type { Io } from '../terminal/io.ts';
import { commandPath, type Installation, type InstalledFile, installedFiles, obstacleAt, placesOf } from './files.ts';

interface Options {
  readonly user?: string;
  readonly instance?: string;
  readonly baseUrl?: string;
  readonly brand?: string;
  readonly keyFile?: string;
  readonly print?: boolean;
}

export function serviceCommand(io: Io): Command {
  const command = new Command('service').description('Installs the daemon as a service of systemd.');
  command
    .command('install')
    .description(
      'Creates the user, the unit, a first configuration from three answers, and the command catalogued; starts nothing. A second run renews the unit and keeps configuration and key. Needs root.',
    )
    .option('--user <name>', 'the user that the daemon runs as (default: catalogued)')
    .option(
      '--instance <brand>',
      'one of several on this host: catalogued@BRAND, with its own user, configuration and data',
    )
    .option('--base-url <url>', 'the address of the service')
    .option('--brand <name>', 'the name of your brand, which the service asks for')
    .option(
      '--key-file <file>',
      'a file that holds the key of the service; it is copied to where only root can read it',
    )
    .option('--print', 'print what would be written and run, and change nothing')
    .addHelpText(
      'after',
      '\nOn a terminal, missing options are asked for.\n\nExamples:\n  sudo catalogued service install --base-url https://api.example.com --brand my-brand --key-file ./key\n  catalogued service install --instance norland --print',
    )
    .action(async (options: Options) => {
      const { wanted, key_file } = await installationOf(options, io);
      const unit = packaged('config/systemd/catalogued.service');
      const files = installedFiles(wanted, { unit, configuration: packaged('config/systemd/catalogued.yaml') });
      const obstacles = [wanted.program, wanted.node].flatMap((path) => obstacleAt(path, unit) ?? []);
      if (options.print) print(io, { wanted, files, obstacles });
      else install(io, { wanted, files, obstacles }, key_file === null ? null : keyIn(key_file));
    });
  return command;
}

function packaged(path: string): string {
  return readFileSync(new URL(path, packageRoot), 'utf8');
}

async function installationOf(
  options: Options,
  io: Io,
): Promise<{ readonly wanted: Installation; readonly key_file: string | null }> {
  const { instance = null } = options;
  for (const [name, value] of [
    ['--user', options.user],
    ['--instance', options.instance],
  ])
    if (value !== undefined && !/^[a-z][a-z0-9-]{0,30}$/.test(value))
      throw usage(`${name} is ${JSON.stringify(value)}, expected lower case letters, digits and hyphens`);
  if (instance !== null && options.user !== undefined)
    throw usage('--user and --instance exclude each other: an instance runs as catalogued-BRAND');
  const { key_file, ...answered } = await answers(options, io);
  checkAnswers(answered.base_url, answered.brand);
  const wanted = {
    user: instance === null ? (options.user ?? 'catalogued') : `catalogued-${instance}`,
    instance,
    program: realpathSync(fileURLToPath(packageRoot)).replace(/\/$/, ''),
    node: realpathSync(process.execPath),
    ...answered,
  };
  return { wanted, key_file };
}

/**
 * Returns what was given, what is asked on a terminal, or the placeholders of the template for a person to fill in.
 * `key_file` null: the key is put in its place later.
 */
async function answers({ baseUrl, brand, keyFile, print }: Options, io: Io) {
  const placeholders = { base_url: 'https://api.example.com', brand: 'my-brand' };
  const given = { base_url: baseUrl ?? null, brand: brand ?? null, key_file: keyFile ?? null };
  if (print || io.stdout.isTTY !== true || process.stdin.isTTY !== true)
    return { ...given, base_url: given.base_url ?? placeholders.base_url, brand: given.brand ?? placeholders.brand };
  using terminal = Object.assign(createInterface({ input: process.stdin, output: process.stdout }), {
    [Symbol.dispose]: () => terminal.close(),
  });
  const ask = (question: string) => terminal.question(question, { signal: io.signal }).catch(() => notAnswered(io));
  return {
    base_url: given.base_url ?? (await ask('Address of the service (https://…): ')),
    brand: given.brand ?? (await ask('Name of your brand: ')),
    key_file: given.key_file ?? ((await ask('File that holds the key (empty: later): ')).trim() || null),
  };
}

/** Ctrl-C and Ctrl-D come as keys while a question is asked. */
function notAnswered({ signal }: Io): never {
  signal.throwIfAborted();
  throw new CataloguedError('not-answered', 'not answered: nothing was installed', {
    exitCode: exitCodes.usage,
    hint: 'give what is asked: catalogued service install --base-url URL --brand NAME --key-file FILE',
  });
}

/** Refuses answers that the daemon would refuse (78), before anything is written. */
function checkAnswers(base_url: string, brand: string): void {
  parseConfig(JSON.stringify({ service: { base_url, user_agent: `${brand} catalogued` } }), {}, 'what was answered');
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CataloguedError('key-file', `cannot read ${file}: ${(error as NodeJS.ErrnoException).code}`, {
      exitCode: exitCodes.configuration,
      hint: 'name the file that holds the key of the service with --key-file',
    });
  }
}

/** Returns the commands to run after the files are written. */
function commandsFor({ user }: Installation): (readonly [string, ...string[]])[] {
  return [
    ['systemd-sysusers', `/etc/sysusers.d/${user}.conf`],
    ['systemctl', 'daemon-reload'],
  ];
}

const elsewhere = 'put the program into /opt/catalogued and Node into /usr/local/bin, and run it from there';

function print(io: Io, { wanted, files, obstacles }: Work): void {
  for (const obstacle of obstacles) io.stderr.write(`Warning: systemd cannot start this: ${obstacle}\n`);
  if (obstacles.length > 0) io.stderr.write(`Try: ${elsewhere}\n`);
  for (const { path, text, mode, write } of files)
    io.stdout.write(
      `# ${path} (${mode.toString(8).padStart(4, '0')}${write === 'once' ? ', unless it is there' : ''})\n${text}\n`,
    );
  io.stdout.write(`# ${commandPath} -> ${join(wanted.program, 'dist/cli.js')}, unless it is there\n`);
  for (const words of commandsFor(wanted)) io.stdout.write(`# ${words.join(' ')}\n`);
}

interface Work {
  readonly wanted: Installation;
  readonly files: readonly InstalledFile[];
  /** Reasons why systemd could not start the service. */
  readonly obstacles: readonly string[];
}

function install(io: Io, { wanted, files, obstacles }: Work, key: string | null): void {
  refuse(obstacles);
  const places = placesOf(wanted.instance);
  for (const file of files) {
    const kept = file.write === 'once' && existsSync(file.path);
    if (!kept) write(file);
    io.stdout.write(`${kept ? 'kept   ' : 'wrote  '}  ${file.path}\n`);
  }
  if (key !== null) {
    write({ path: places.key, text: `${key.trim()}\n`, mode: 0o600, write: 'always' });
    io.stdout.write(`wrote    ${places.key}\n`);
  }
  if (lstatSync(commandPath, { throwIfNoEntry: false }) === undefined) {
    symlinkSync(join(wanted.program, 'dist/cli.js'), commandPath);
    io.stdout.write(`wrote    ${commandPath}\n`);
  }
  for (const [program, ...args] of commandsFor(wanted)) run(program, args);
  const next = [
    ...(existsSync(places.key) ? [] : [`put the key of the service into ${places.key} (owner root, mode 0600)`]),
    ...(wanted.base_url === 'https://api.example.com' ? [`set service.base_url in ${places.configuration}`] : []),
    `systemctl enable --now ${places.service}`,
    wanted.instance === null ? 'catalogued status' : `catalogued --config ${places.configuration} status`,
  ];
  io.stdout.write(`\nNext:\n${next.map((each) => `  ${each}\n`).join('')}`);
}

/** Refuses what could not become a service, before anything is written. */
function refuse([obstacle]: readonly string[]): void {
  const refusal = (code: string, message: string, exitCode: ExitCode, hint: string) =>
    new CataloguedError(code, message, { exitCode, hint });
  if (!existsSync('/run/systemd/system'))
    throw refusal(
      'no-systemd',
      'this machine does not run systemd',
      exitCodes.configuration,
      'catalogued service install --print shows what would be written; docs/operating.md has the container',
    );
  if (process.getuid?.() !== 0)
    throw refusal('root', 'only root can install a service', exitCodes.permission, 'run it with sudo, or with --print');
  if (obstacle !== undefined)
    throw refusal('hidden-program', `systemd cannot start this: ${obstacle}`, exitCodes.configuration, elsewhere);
}

function write({ path, text, mode }: InstalledFile): void {
  makeDirectory(dirname(path), 0o755);
  // A file that holds a key is never open to others, not even while it is written.
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return;
  throw new CataloguedError(
    'service-install',
    `${program} ${args.join(' ')}: ${(stderr || error?.message || '').trim()}`,
    {
      exitCode: exitCodes.io,
      hint: 'fix that and run the same command again: what is written stays',
    },
  );
}

function usage(message: string): CataloguedError {
  return new CataloguedError('usage', message, {
    exitCode: exitCodes.usage,
    hint: 'catalogued service install --help',
  });
}
