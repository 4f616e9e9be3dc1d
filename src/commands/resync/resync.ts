import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import type { Answer } from '../../admin/api.ts';
import { systemClock } from '../../clock.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { openMirroring } from '../../daemon/mirroring.ts';
import { type ResyncResource, resyncHelp } from '../../domain/schedule/resources.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { counted, number, remaining } from '../../format.ts';
import { givesUp, whyWaiting } from '../../status/daemon-status.ts';
import {
  costOfResync,
  countListed,
  type ResyncCost,
  type ResyncRequest,
  resyncResources,
} from '../../sync/records/resync.ts';
import { calendarDate, productIds } from '../options.ts';
import { askDaemon, configurationFor, machineFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { progressPrinter } from '../terminal/progress.ts';
import { table } from '../terminal/table.ts';
import { resyncAlone } from './alone.ts';
import { concludeJob, doneSays, printFound } from './conclude-job.ts';
import { whileLocked } from './while-locked.ts';

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
      const ask = () => askDaemon(io, loaded, { operation: 'POST /v1/resync', body, patience_ms: patienceMs });
      const answer = await (options.wait ? whileLocked(io, systemClock, ask) : ask());
      if (answer === null) {
        if (options.dryRun) await priceAlone(io, loaded, request, options);
        else await resyncAlone(io, loaded, request, options);
        return;
      }
      if (options.dryRun || answer.job_id === null) return printPrice(io, answer, options);
      printFound(io, answer.found);
      // With --wait and --json the one document comes at the end.
      if (!(options.wait && options.json)) printStart(io, answer, options);
      io.ifStopped(`the daemon goes on with job ${answer.job_id}`, 'catalogued status');
      if (options.wait) await waitFor(io, loaded, { ...answer, job_id: answer.job_id }, options);
    });
}

type Started = Answer<'POST /v1/resync'>;

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

async function priceAlone(io: Io, loaded: LoadedConfig, request: ResyncRequest, options: Options): Promise<void> {
  using place = elsewhereIfNew(loaded);
  await using mirroring = await openMirroring(machineFor(io), place.loaded);
  const { sync } = mirroring;
  const listed = await countListed(sync, 'fill', request, io.signal);
  printPrice(io, costOfResync(sync, request, loaded.config.budget.requests_per_second, { listed }), options);
}

/** Returns the configuration; before the first start with an empty mirror in a temporary directory: a price makes no files. */
function elsewhereIfNew(loaded: LoadedConfig): { readonly loaded: LoadedConfig } & Disposable {
  const { config } = loaded;
  if (existsSync(config.mirror.path) || existsSync(config.mirror.inbox_path))
    return { loaded, [Symbol.dispose]: () => undefined };
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

async function waitFor(
  io: Io,
  loaded: LoadedConfig,
  { job_id, resumed, calls: priced, minutes }: Started & { readonly job_id: number },
  { json }: Options,
): Promise<void> {
  const clock = systemClock;
  const printer = progressPrinter(io);
  // The next output begins on its own line, even if a signal ends the command.
  using _ = { [Symbol.dispose]: printer.end };
  /** Calls counted by the daemon since its start, when the wait began; null: not read yet. */
  let before: number | null = null;
  for (;;) {
    const job = await askDaemon(io, loaded, { operation: 'GET /v1/jobs/{id}', path: { id: String(job_id) } });
    const status = await askDaemon(io, loaded, { operation: 'GET /v1/status' });
    if (job === null || status === null) {
      throw new CataloguedError('daemon-gone', 'the daemon stopped before the job was done', {
        exitCode: exitCodes.retryLater,
        hint: `start the daemon again: it continues job ${job_id}. Follow it with: catalogued status`,
      });
    }
    const refusal = givesUp(status.daemon, clock.now());
    if (refusal !== null) throw refusal;
    const done = job.records - job.left;
    io.ifStopped(`${doneSays(job)}; the daemon goes on with job ${job_id}`, 'catalogued status');
    before ??= status.daemon.calls;
    const calls = status.daemon.calls - before;
    const note = whyWaiting(status.daemon, job.next_due_at, clock.now());
    printer.show({ phase: `job ${job_id}`, done, total: job.records, calls, note }, clock.now());
    if (job.left === 0 && job.finished_at !== null) {
      printer.end();
      const { records, failed } = job;
      if (json)
        io.stdout.write(`${JSON.stringify({ job_id, resumed, calls: priced, minutes, records, failed }, null, 2)}\n`);
      return concludeJob(json ? { ...io, stdout: io.stderr } : io, job, status, clock.now());
    }
    await clock.sleep(1000, io.signal);
  }
}
