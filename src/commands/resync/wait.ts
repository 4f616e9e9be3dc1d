import type { Answer } from '../../admin/api.ts';
import type { AdminCall } from '../../admin/client.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { QuietDaemon } from '../../daemon/quiet.ts';
import { writeRefusal } from '../../files/write-refusal.ts';
import { systemClock } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { counted, megabytes, number } from '../../kernel/format.ts';
import { createLog } from '../../kernel/log.ts';
import { storageSays } from '../../says/conditions/of-files.rules.ts';
import { todoOf } from '../../says/conditions/table.rules.ts';
import { givesUp, giveUpAfterMs, whyWaiting } from '../../says/status/daemon-status.ts';
import type { ResyncState } from '../../schedule/resyncs.store.ts';
import { type HeldClaims, heldText, isOpen } from '../../trust/hold.rules.ts';
import { shortListText, type ToldShortList } from '../../trust/short-list.rules.ts';
import { askDaemon, machineFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { progressPrinter } from '../terminal/progress.ts';

/* How a command waits for a resync: beside a running daemon, or with a quiet one in its own process. */

export type Started = Answer<'POST /v1/resync'>;

const clock = systemClock;
const sameAgain = 'run the same command again: it continues, and reads nothing twice';
const lookEveryMs = 500;

/**
 * Resyncs with a quiet daemon. Resolves when every record of the job is read or has failed for good. A kill loses
 * nothing: the same command continues.
 */
export async function resyncQuietly(
  io: Io,
  loaded: LoadedConfig,
  call: AdminCall<'POST /v1/resync'>,
  options: { readonly json?: boolean },
): Promise<void> {
  const { log } = loaded.config;
  for (const warning of loaded.warnings) io.stderr.write(`Warning: ${warning}\n`);
  io.ifStopped('nothing was read', sameAgain);
  // People see progress; failures of single records go to the log.
  const machine = machineFor(io, createLog(log.level === 'info' ? 'error' : log.level, io.stderr));
  await using quiet = await whileLocked(io, () => QuietDaemon.start(machine, loaded, io.signal));
  const started = await whileLocked(io, () => quiet.call(call));
  printFound(io, started.found);
  const left = Object.values(started.records).reduce((sum, records) => sum + records, 0);
  if (started.resumed)
    io.stderr.write(`Continuing an interrupted resync of the same scope: ${counted(left, 'record')} left.\n`);
  await waitFor(io, loaded, started, { ...options, quiet });
}

/** Prints which of the requested products the mirror did not have. */
export function printFound({ stderr }: Io, found: readonly number[]): void {
  if (found.length > 0)
    stderr.write(`Not mirrored until now: product ${found.join(', ')}. The service has it, so it is mirrored now.\n`);
}

/** Does work again as long as another program holds a lock of our files: that is over within seconds, as a rule. */
export async function whileLocked<Result>({ stderr, signal }: Io, work: () => Promise<Result>): Promise<Result> {
  const until = clock.monotonic() + giveUpAfterMs;
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (error) {
      if (!isLocked(error) || clock.monotonic() >= until) throw error;
      if (!told) stderr.write('Another program is writing the mirror or the inbox: waiting for it.\n');
      await clock.sleep(lookEveryMs, signal);
    }
  }
}

function isLocked(error: unknown): boolean {
  const own = error instanceof CataloguedError ? error : writeRefusal(error);
  // The daemon's refusal is the cause of ours.
  return [own, own?.cause].some((each) => (each as { code?: unknown } | undefined)?.code === 'locked');
}

/** Waits until every record of a job is read or has failed for good, and prints the result. `quiet`: the daemon that reads; null: one runs. */
export async function waitFor(
  io: Io,
  loaded: LoadedConfig,
  { job_id, calls: priced }: Started,
  { json, quiet }: { readonly json?: boolean; readonly quiet: QuietDaemon | null },
): Promise<void> {
  const asked = { operation: 'GET /v1/jobs/{id}', path: { id: String(job_id) } } as const;
  const [phase, rest, hint] =
    quiet === null
      ? [`job ${job_id}`, `the daemon goes on with job ${job_id}`, 'catalogued status']
      : ['resync', 'the rest stays due', sameAgain];
  const printer = progressPrinter(io);
  // The next output begins on its own line, even if a signal ends the command.
  using _ = { [Symbol.dispose]: printer.end };
  const began = clock.now();
  /** Calls counted by the daemon since its start, when the wait began; null: not read yet. */
  let before: number | null = quiet === null ? null : 0;
  for (;;) {
    await quiet?.read(Number(job_id), 1000);
    const job = await (quiet === null ? askDaemon(io, loaded, asked) : quiet.call(asked));
    if (job !== null) io.ifStopped(`${doneSays(job)}; ${rest}`, hint);
    io.signal.throwIfAborted();
    const status = quiet === null ? await askDaemon(io, loaded, { operation: 'GET /v1/status' }) : quiet.status();
    if (job === null || status === null) {
      throw new CataloguedError('daemon-gone', 'the daemon stopped before the job was done', {
        exitCode: exitCodes.retryLater,
        hint: `start the daemon again: it continues job ${job_id}. Follow it with: catalogued status`,
      });
    }
    const now = clock.now();
    const refusal = givesUp(status, now);
    if (refusal !== null) throw refusal;
    before ??= status.daemon.calls;
    const calls = status.daemon.calls - before;
    if (job.left === 0 && job.finished_at !== null) {
      printer.end();
      const { records, failed } = job;
      const received_bytes = quiet?.daemon.sync.upstream.received() ?? null;
      const seconds = (now - began) / 1000;
      const peak_memory_mib = quiet === null ? null : Math.round(process.resourceUsage().maxRSS / 1024);
      const figures = {
        calls: quiet === null ? priced : calls,
        received_bytes,
        seconds: Math.round(seconds * 10) / 10,
        peak_memory_mib,
      };
      if (json) io.stdout.write(`${JSON.stringify({ job_id, records, failed, ...figures }, null, 2)}\n`);
      else if (received_bytes !== null)
        io.stdout.write(
          `${counted(calls, 'call')} in ${seconds.toFixed(1)} s, ${megabytes(received_bytes.all)} of JSON (${megabytes(received_bytes.availability)} of it availability), ${peak_memory_mib} MiB of memory at most.\n`,
        );
      return concludeResync(json ? { ...io, stdout: io.stderr } : io, job, status, now);
    }
    const products = quiet === null ? null : counted(quiet.daemon.mirror.catalogue.products.count(), 'product');
    const waits = storageSays(status.storage, now)[0] ?? whyWaiting(status.daemon, job.next_due_at, now);
    const done = job.records - job.left;
    printer.show({ phase, done, total: job.records, calls, note: waits ?? products }, now);
    if (quiet === null) await clock.sleep(1000, io.signal);
  }
}

type WalkedShortList = ToldShortList & { readonly walked_at: number };

/** Says how far a job has come. */
function doneSays({ records, left, failed }: ResyncState): string {
  const failures = failed === 0 ? '' : `, ${number(failed)} of them without success`;
  return `${number(records - left)} of ${counted(records, 'record')} ${records === 1 ? 'was' : 'were'} read${failures}`;
}

/**
 * Prints that every record of a job was refreshed. If some failed, throws (69) and names all open holds, because any of
 * them may be the reason. `short_lists`: the incomplete lists. Those walked since the job was requested are named.
 */
export function concludeResync(
  { stdout, stderr }: Io,
  job: ResyncState,
  { short_lists, held }: { readonly short_lists: readonly WalkedShortList[]; readonly held: readonly HeldClaims[] },
  now: number,
): void {
  const short = short_lists.filter(({ walked_at }) => walked_at >= job.requested_at).map(shortListText);
  const incomplete = `the list is incomplete: ${short.join('; ')}`;
  if (job.failed > 0) {
    const failed = `${number(job.failed)} of ${counted(job.records, 'record')} could not be refreshed`;
    const kept = held.filter(isOpen).map((each) => `; held: ${heldText(each, now)}`);
    const says = `${failed}${kept.join('')}`;
    if (short.length > 0)
      throw new CataloguedError('list-incomplete', `${incomplete}; ${says}`, {
        exitCode: exitCodes.unavailable,
        hint: todoOf('list-incomplete'),
      });
    throw new CataloguedError(kept.length > 0 ? 'held' : 'some-failed', says, {
      exitCode: exitCodes.unavailable,
      hint:
        kept.length > 0
          ? todoOf('held')
          : 'see which ones with: catalogued status (failed records are retried automatically)',
    });
  }
  // Three walks in a row had the same shortage, so it no longer counts as a failure.
  if (short.length > 0) stderr.write(`Warning: ${incomplete}\n`);
  const refreshed = job.records === 1 ? 'The record was' : `All ${number(job.records)} records`;
  stdout.write(
    job.records === 0 ? 'Nothing was refreshed: the mirror has no such record.\n' : `${refreshed} refreshed.\n`,
  );
}
