import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { AdminRefusal } from '../admin/client.ts';
import type { LoadedConfig } from '../config/load.ts';
import { requireSecrets } from '../config/secrets.ts';
import { openMirroring } from '../daemon/mirroring.ts';
import { connectAlone } from '../daemon/probing.ts';
import { zoneReleases } from '../files/zone-files.ts';
import { systemClock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { type Check, isHealthy } from '../says/doctor/check.ts';
import {
  credentialChecks,
  firstServiceChecks,
  localChecks,
  serviceChecks,
  unusable,
  withheldCredentials,
  zoneCheck,
} from '../says/doctor/doctor.ts';
import { type ReaderQuestion, readerChecks } from '../says/doctor/reader.ts';
import { configurationFor, daemonClient, machineFor } from './setup.ts';
import { type Io, print } from './terminal/io.ts';
import { table } from './terminal/table.ts';

const patienceMs = 3 * 60_000;

export function doctorCommand(io: Io): Command {
  return new Command('doctor')
    .description(
      'Checks configuration, credentials, clock, disk, service and receiver, and says how to fix what is wrong. Exit 0: nothing is wrong; 1: something is.',
    )
    .option('--reader', 'open the mirror as a storefront would, and check nothing else')
    .option('--user <name>', 'with --reader: open it as this user, with its groups; needs root')
    .option('--path <file>', 'with --reader: open this file (a mirror or a snapshot); needs no configuration')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nOutput: one line per check: ✓ right, ✗ wrong, - not checked. A running daemon asks the service; without one the command\nitself does. Before the first start it asks two questions, within ten seconds: the list and one product.\n\nExamples:\n  catalogued doctor\n  sudo catalogued doctor --reader --user www-data\n  catalogued doctor --json | jq \'.checks[] | select(.verdict == "wrong")\'',
    )
    .action(async (options: Options, command: Command) => {
      const configuration = () => configurationFor(io, command);
      const question = questionOf(options, io, configuration);
      const checks =
        question === null ? await examine(io, configuration) : await readerChecks(question, systemClock.sleep);
      const healthy = isHealthy(checks);
      const about = question === null ? {} : { path: question.path, user: question.user };
      print(io, options, { ...about, healthy, checks }, () => render(checks));
      if (!healthy) io.answerIsNo();
    });
}

interface Options {
  readonly json?: boolean;
  readonly reader?: boolean;
  readonly user?: string;
  readonly path?: string;
}

/** Returns the question about a reader; null without `--reader`. */
function questionOf({ reader, user, path }: Options, io: Io, configuration: () => LoadedConfig): ReaderQuestion | null {
  if (reader) {
    const file = path ?? configuration().config.mirror.path;
    return { path: file, user: user ?? null, search_path: io.env.PATH ?? '/usr/local/bin:/usr/bin:/bin' };
  }
  if (user === undefined && path === undefined) return null;
  throw new CataloguedError('usage', '--user and --path need --reader', {
    exitCode: exitCodes.usage,
    hint: 'catalogued doctor --reader --user www-data',
  });
}

async function examine(io: Io, configuration: () => LoadedConfig): Promise<Check[]> {
  let loaded: LoadedConfig;
  try {
    loaded = configuration();
  } catch (error) {
    if (error instanceof CataloguedError) return unusable(error);
    throw error;
  }
  const refused = refusedSecrets(loaded);
  const others = await beyond(io, loaded);
  if (refused === null) return [...localChecks(loaded, credentialChecks(loaded)), ...others];
  const runs = others.some(({ name, verdict }) => name === 'daemon' && verdict === 'ok');
  return runs ? [...localChecks(loaded, withheldCredentials), ...others] : unusable(refused);
}

function refusedSecrets({ secrets }: LoadedConfig): CataloguedError | null {
  try {
    requireSecrets(secrets);
    return null;
  } catch (error) {
    if (error instanceof CataloguedError) return error;
    throw error;
  }
}

/** Returns the checks of service and receiver, run by the daemon if one runs. */
async function beyond(io: Io, loaded: LoadedConfig): Promise<Check[]> {
  const { config } = loaded;
  try {
    const asked = await daemonClient(loaded).call({
      operation: 'GET /v1/doctor',
      patience_ms: patienceMs,
      signal: io.signal,
    });
    if (asked !== null) return [daemon('ok', 'it runs', null), ...asked];
    const start = 'catalogued run, or systemctl start catalogued';
    const none = daemon('skipped', 'not running: nothing is refreshed or received', start);
    // The first start creates the files, not a command that only looks.
    if (!existsSync(config.mirror.path)) {
      await using stack = new AsyncDisposableStack();
      const machine = machineFor(io);
      return [
        none,
        zoneCheck(zoneReleases(machine.zones), []),
        ...(await firstServiceChecks({ config, ...connectAlone(stack, machine, loaded) }, io.signal)),
      ];
    }
    await using mirroring = await openMirroring(machineFor(io), loaded);
    const { probe, serviceClock, subscriptions, notOffered, zones } = mirroring;
    return [
      none,
      zoneCheck(zones.releases, zones.differing),
      ...(await serviceChecks(
        { config, probe, offset: serviceClock.offset, subscriptions, notOffered, peers: null },
        io.signal,
      )),
    ];
  } catch (error) {
    if (error instanceof CataloguedError)
      return [daemon('wrong', [error.message, ...error.details].join(' '), error.hint ?? null)];
    if (error instanceof AdminRefusal) return [daemon('wrong', `it refuses: ${error.message}`, error.hint ?? null)];
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    return [daemon('wrong', `it does not answer at ${config.admin.listen} (${code})`, 'restart it')];
  }
}

function daemon(verdict: Check['verdict'], found: string, advice: string | null): Check {
  return { name: 'daemon', verdict, found, advice };
}

const marks = { ok: '✓', wrong: '✗', skipped: '-' } as const;

function render(checks: readonly Check[]): string {
  const rows = checks.map(({ name, verdict, found }) => [marks[verdict], name, found]);
  const [, ...lines] = table(['', '', ''], rows).split('\n');
  const indent = ' '.repeat(Math.max(...checks.map(({ name }) => name.length)) + 5);
  return `${lines.map((line, index) => withAdvice(line, checks[index]?.advice ?? null, indent)).join('\n')}\n`;
}

function withAdvice(line: string, advice: string | null, indent: string): string {
  return advice === null ? line : `${line}\n${indent}→ ${advice}`;
}
