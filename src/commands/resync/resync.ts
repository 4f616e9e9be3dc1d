import { Command, Option } from 'commander';
import type { Answer } from '../../admin/api.ts';
import { type Clock, systemClock } from '../../clock.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { wire } from '../../daemon/wiring.ts';
import { type ResyncResource, resyncHelp } from '../../domain/schedule/resources.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { number, remaining } from '../../format.ts';
import { createLog } from '../../log.ts';
import { keyRefused, serviceUnusable, throttledTooLong } from '../../status/daemon-status.ts';
import { priceResync, type ResyncPrice, type ResyncRequest, resyncResources } from '../../sync/records/resync.ts';
import { calendarDate, productIds } from '../options.ts';
import { askDaemon, configurationFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { progressPrinter } from '../terminal/progress.ts';
import { table } from '../terminal/table.ts';
import { upgradeOn } from '../terminal/upgrade-progress.ts';
import { resyncAlone } from './alone.ts';
import { concludeJob, doneSays } from './conclude-job.ts';

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
    'Makes the named records due now and leaves all other schedules unchanged. A running daemon does the work; without one the command does. ' +
      'With --wait: exit 0 when all are refreshed, 69 when some failed, 75 when throttled.',
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
      const answer = await askDaemon(io, loaded, { operation: 'POST /v1/resync', body });
      if (answer === null) {
        if (options.dryRun) await priceAlone(io, loaded, request, options);
        else await resyncAlone(io, loaded, request, options);
        return;
      }
      if (options.dryRun || answer.job_id === null) return printPrice(io, answer, options);
      printStart(io, answer, options);
      io.ifStopped(`the daemon goes on with job ${answer.job_id}`, 'catalogued status');
      if (options.wait) await waitFor(io, loaded, answer.job_id, systemClock);
    });
}

type Started = Answer<'POST /v1/resync'>;

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
  await using wiring = await wire(loaded, createLog('silent', io.stderr), { upgrade: upgradeOn(io) });
  printPrice(io, priceResync(wiring.ports, request, loaded.config.budget.requests_per_second), options);
}

function printPrice({ stdout }: Io, price: ResyncPrice, { json }: Options): void {
  if (json) {
    const { records, calls, minutes } = price;
    stdout.write(`${JSON.stringify({ records, calls, minutes }, null, 2)}\n`);
    return;
  }
  const rows = Object.entries(price.records).map(([resource, records]) => [resource, number(records)]);
  stdout.write(
    `${table(['resource', 'records'], rows)}\n\n${number(price.calls)} calls, about ${remaining(price.minutes * 60_000)} at the configured rate. Nothing was made due.\n`,
  );
}

function printStart({ stdout }: Io, { job_id, resumed, calls, minutes }: Started, { json, wait }: Options): void {
  if (json) {
    stdout.write(`${JSON.stringify({ job_id, resumed, calls, minutes }, null, 2)}\n`);
    return;
  }
  const begun = resumed ? `Job ${job_id}, interrupted earlier, continues` : `Job ${job_id} started`;
  const follow = wait ? '' : ' Follow it with: catalogued status';
  stdout.write(`${begun}: ${number(calls)} calls, about ${remaining(minutes * 60_000)}.${follow}\n`);
}

async function waitFor(io: Io, loaded: LoadedConfig, job_id: number, clock: Clock): Promise<void> {
  const printer = progressPrinter(io);
  /** The daemon counts its calls since its start. */
  let before: number | null = null;
  for (;;) {
    const job = await askDaemon(io, loaded, { operation: 'GET /v1/jobs/{id}', path: { id: String(job_id) } });
    const status = await askDaemon(io, loaded, { operation: 'GET /v1/status' });
    if (job === null || status === null) {
      throw new CataloguedError('daemon-gone', 'the daemon stopped before the job was done', {
        exitCode: exitCodes.retryLater,
        hint: 'start the daemon again: it continues the job, and reads nothing twice',
      });
    }
    const refusal =
      keyRefused(status.daemon) ??
      serviceUnusable(status.daemon, clock.now()) ??
      throttledTooLong(status.daemon, clock.now());
    if (refusal !== null) throw refusal;
    const done = job.records - job.left;
    io.ifStopped(`${doneSays(job)}; the daemon goes on with job ${job_id}`, 'catalogued status');
    before ??= status.daemon.calls;
    const calls = status.daemon.calls - before;
    printer.show({ phase: `job ${job_id}`, done, total: job.records, calls, note: null }, clock.now());
    if (job.left === 0 && job.finished_at !== null) {
      printer.end();
      return concludeJob(io, job, status.short_lists);
    }
    await clock.sleep(1000, io.signal);
  }
}
