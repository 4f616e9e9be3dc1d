import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import type { LoadedConfig } from '../../config/load.ts';
import {
  costOfResync,
  countStored,
  type ResyncCost,
  type ResyncRequest,
  resyncResources,
} from '../../cycle/request-resync.ts';
import { policyOf } from '../../daemon/policy.ts';
import { systemClock } from '../../kernel/clock.ts';
import { counted, number, remaining } from '../../kernel/format.ts';
import { openMirrorFacts } from '../../mirror/reading.ts';
import { type ResyncResource, resyncHelp } from '../../schedule/resources.rules.ts';
import { askQuietDaemon } from '../daemon-or-quiet.ts';
import { calendarDate, productIds } from '../options.ts';
import { askDaemon, configurationFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { table } from '../terminal/table.ts';
import { printFound, resyncQuietly, type Started, waitFor, whileLocked } from './wait.ts';

interface Options extends Partial<Readonly<Record<ResyncResource, boolean>>> {
  readonly all?: boolean;
  readonly product: number[];
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly json?: boolean;
}

export function resyncCommand(io: Io): Command {
  const command = new Command('resync').description(
    'Makes the named records due now and leaves all other schedules unchanged. A running daemon does the work; without one the command does, and waits for it. ' +
      'With --wait: exit 0 when all are refreshed, 69 when some failed or are held, 75 when throttled.',
  );
  for (const resource of resyncResources) command.option(`--${resource}`, resyncHelp[resource]);
  return command
    .option('--all', 'all of the above')
    .addOption(
      new Option('--product <id...>', 'only these products; may be repeated').argParser(productIds).default([], 'all'),
    )
    .option('--from <date>', 'availability from this date on (YYYY-MM-DD)', calendarDate)
    .option('--to <date>', 'availability up to this date', calendarDate)
    .option('--dry-run', 'print what it would cost, and change nothing')
    .option('--wait', 'wait until every record is read')
    .option('--json', 'print JSON; the fields are a contract (schema/contract.json)')
    .addHelpText(
      'after',
      '\nExamples:\n  catalogued resync --product 973698 --availability --wait\n  catalogued resync --all --dry-run',
    )
    .action(async (options: Options, command: Command) => {
      const request = requestOf(options, command);
      const loaded = configurationFor(io, command);
      const body = { ...request, dry_run: options.dryRun === true };
      const call = { operation: 'POST /v1/resync', body, patience_ms: patienceMs } as const;
      const ask = () => askDaemon(io, loaded, call);
      const started = await (options.wait ? whileLocked(io, ask) : ask());
      if (options.dryRun) return printPrice(io, started ?? (await priceQuietly(io, loaded, request)), options);
      if (started === null) return await resyncQuietly(io, loaded, call, options);
      printFound(io, started.found);
      // With --wait and --json the one document comes at the end.
      if (!(options.wait && options.json)) printStart(io, started, options);
      io.ifStopped(`the daemon goes on with job ${started.job_id}`, 'catalogued status');
      if (options.wait) await waitFor(io, loaded, started, { ...options, quiet: null });
    });
}

/** Time for the daemon to ask the service about a product, or how many it lists. */
const patienceMs = 15_000;

function requestOf(options: Options, command: Command): ResyncRequest {
  const named = resyncResources.filter((resource) => options.all || options[resource]);
  const resources = named.length === 0 && options.product.length > 0 ? resyncResources : named;
  if (resources.length === 0) command.error('error: name what to read, or --all for everything');
  if (options.from !== undefined && options.to !== undefined && options.from > options.to) {
    command.error(`error: --from ${options.from} is after --to ${options.to}`);
  }
  return { resources, product_ids: options.product, from: options.from ?? null, to: options.to ?? null };
}

/** Returns the price by the files as they stand: a dry run takes no lock, and writes nothing. */
async function priceQuietly(io: Io, loaded: LoadedConfig, request: ResyncRequest): Promise<ResyncCost> {
  const { config } = loaded;
  const { path, inbox_path } = config.mirror;
  if (existsSync(path) || existsSync(inbox_path)) {
    using mirror = openMirrorFacts(path);
    const policy = policyOf(config, (resource) => mirror.schedule.offers.offers(resource));
    const facts = { mirror, clock: systemClock, policy };
    const counted = countStored(facts, request);
    if (counted !== null) return costOfResync(facts, request, config.budget.requests_per_second, { counted });
  }
  using place = elsewhere(loaded);
  return await askQuietDaemon(io, place.loaded, { operation: 'POST /v1/resync', body: { ...request, dry_run: true } });
}

/** Returns the configuration with an empty mirror in a temporary directory. */
function elsewhere({ config, ...loaded }: LoadedConfig): { readonly loaded: LoadedConfig } & Disposable {
  const directory = mkdtempSync(join(tmpdir(), 'catalogued-price-'));
  const mirror = {
    ...config.mirror,
    path: join(directory, 'mirror', 'mirror.db'),
    inbox_path: join(directory, 'state', 'inbox.db'),
    state_dir: join(directory, 'state'),
  };
  return {
    loaded: { ...loaded, config: { ...config, mirror } },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function printPrice({ stdout }: Io, price: ResyncCost, { json }: Options): void {
  if (json) {
    const { records, calls, minutes, estimated_from, at_least } = price;
    stdout.write(`${JSON.stringify({ records, calls, minutes, estimated_from, at_least }, null, 2)}\n`);
    return;
  }
  const rows = Object.entries(price.records).map(([resource, records]) => [resource, number(records)]);
  const most = price.at_least ? 'At least ' : '';
  const calls = `${most}${counted(price.calls, 'call')}, about ${remaining(price.minutes * 60_000)} at the configured rate.`;
  const how = price.at_least
    ? 'The service did not say how many products it lists: the rest is known once the list was walked.\n'
    : price.estimated_from === null
      ? ''
      : `Estimated with one call: the service lists ${counted(price.estimated_from, 'product')}.\n`;
  stdout.write(`${table(['resource', 'records'], rows)}\n\n${calls}\n${how}Nothing was made due.\n`);
}

function printStart({ stdout }: Io, { job_id, resumed, calls, minutes }: Started, { json, wait }: Options): void {
  if (json) {
    stdout.write(`${JSON.stringify({ job_id, resumed, calls, minutes }, null, 2)}\n`);
    return;
  }
  const started = `Job ${job_id} started: ${counted(calls, 'call')}, about ${remaining(minutes * 60_000)}.`;
  stdout.write(`${started}\n${wait ? '' : 'Follow it with: catalogued status\n'}`);
}
