import type { LoadedConfig } from '../../config/load.ts';
import { DoubtedService } from '../../daemon/conditions/doubts.ts';
import { type Mirroring, openMirroring } from '../../daemon/mirroring.ts';
import { storageSays } from '../../domain/conditions/of-files.ts';
import type { CataloguedError } from '../../errors.ts';
import { writeRefusalOf } from '../../files/write-refusal.ts';
import { counted, megabytes } from '../../format.ts';
import { createLog } from '../../log.ts';
import type { JobState } from '../../mirror/schedule/jobs.ts';
import { givesUp, giveUpAfterMs, liveStatus, whyWaiting } from '../../status/daemon-status.ts';
import { runSyncCycle } from '../../sync/engine.ts';
import { findProducts } from '../../sync/reads/find-products.ts';
import { type ResyncRequest, requestResync } from '../../sync/records/resync.ts';
import { machineFor } from '../setup.ts';
import type { Io } from '../terminal/io.ts';
import { progressPrinter } from '../terminal/progress.ts';
import { concludeJob, doneSays, printFound } from './conclude-job.ts';
import { whileLocked } from './while-locked.ts';

/**
 * Resyncs without a daemon, under the lock. Resolves when every record of the job is read or has failed for good. A
 * kill loses nothing: the same command continues.
 */
export async function resyncAlone(
  io: Io,
  loaded: LoadedConfig,
  request: ResyncRequest,
  options: { json?: boolean },
): Promise<void> {
  const { config } = loaded;
  for (const warning of loaded.warnings) io.stderr.write(`Warning: ${warning}\n`);
  io.ifStopped('nothing was read', sameAgain);
  // People see progress; failures of single records go to the log.
  const log = createLog(config.log.level === 'info' ? 'error' : config.log.level, io.stderr);
  const machine = machineFor(io, log);
  const patiently = <Result>(work: () => Result | Promise<Result>) => whileLocked(io, machine.clock, work);
  await using mirroring = await patiently(() => openMirroring(machine, loaded));
  const { clock } = mirroring.sync;
  const began = clock.now();
  const { writer } = mirroring;
  printFound(
    io,
    await patiently(() => findProducts(mirroring.sync, request.product_ids, { writer, signal: io.signal })),
  );
  const opened = await patiently(() => requestResync(mirroring.sync, request, { resume: true }));
  writer.serve();
  if (opened.resumed)
    io.stderr.write(`Continuing an interrupted resync of the same scope: ${counted(opened.left, 'record')} left.\n`);
  const stop = new AbortController();
  const signal = AbortSignal.any([io.signal, stop.signal]);
  const watching = watch(io, mirroring, opened.job_id, stop);
  let job: JobState;
  try {
    job = await untilDone(mirroring, opened.job_id, signal);
  } finally {
    stop.abort(new Error('the resync has ended'));
    await watching;
    const done = mirroring.mirror.schedule.jobs.find(opened.job_id) ?? opened;
    io.ifStopped(`${doneSays(done)}; the rest stays due`, sameAgain);
  }
  const { calls } = mirroring.limiter.state();
  const received = mirroring.sync.upstream.received();
  const seconds = (clock.now() - began) / 1000;
  const summary = {
    job_id: job.job_id,
    records: job.records,
    failed: job.failed,
    calls,
    received_bytes: received,
    seconds: Math.round(seconds * 10) / 10,
    peak_memory_mib: peakMemory(),
  };
  if (options.json) io.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
  else
    io.stdout.write(
      `${counted(calls, 'call')} in ${seconds.toFixed(1)} s, ${megabytes(received.all)} of JSON (${megabytes(received.availability)} of it availability), ${peakMemory()} MiB of memory at most.\n`,
    );
  const found = { short_lists: mirroring.mirror.schedule.shortLists.all(), held: mirroring.mirror.evidence.held() };
  concludeJob(options.json ? { ...io, stdout: io.stderr } : io, job, found, clock.now());
}

const sameAgain = 'run the same command again: it continues, and reads nothing twice';

async function untilDone(
  { config, sync, mirror, limiter, writer, watch }: Mirroring,
  job_id: number,
  signal: AbortSignal,
): Promise<JobState> {
  const live = () => liveStatus(limiter, sync.refusals);
  for (;;) {
    const known = await writer.until(signal, () => watch.look(signal));
    signal.throwIfAborted();
    if (known !== true) {
      const refusal = givesUp(live(), sync.clock.now());
      if (refusal !== null) throw refusal;
      await sync.clock.sleep(1000, signal);
      continue;
    }
    const result = await writer.until(signal, () => runSyncCycle(sync, config.budget.concurrency, { job_id, signal }));
    signal.throwIfAborted();
    if (result === null) continue;
    const refusal = givesUp(live(), sync.clock.now());
    if (refusal !== null) throw refusal;
    signal.throwIfAborted();
    const job = mirror.schedule.jobs.find(job_id);
    if (job === null) throw new Error(`job ${job_id} is gone`);
    if (job.left === 0) return job;
    const wait = (mirror.schedule.records.nextDueAt(job_id) ?? 0) - sync.clock.now();
    await sync.clock.sleep(Math.max(wait, 10), signal);
  }
}

/** Shows progress every second, and ends the work when the service stays unreachable. */
async function watch(io: Io, mirroring: Mirroring, job_id: number, stop: AbortController): Promise<void> {
  const { sync, mirror, limiter, writer } = mirroring;
  const doubted = new DoubtedService(mirroring);
  const printer = progressPrinter(io);
  while (!stop.signal.aborted) {
    await sync.clock.sleep(1000, stop.signal).catch(() => undefined);
    const live = liveStatus(limiter, sync.refusals);
    const [job, now] = [mirror.schedule.jobs.find(job_id), sync.clock.now()];
    if (job === null || stop.signal.aborted) break;
    printer.show(
      {
        phase: job.left === 0 ? 'done' : 'resync',
        done: job.records - job.left,
        total: job.records,
        calls: live.calls,
        note:
          storageSays(writer.status(), now)[0] ??
          whyWaiting(live, mirror.schedule.records.nextDueAt(job_id), now) ??
          productsOf(mirror),
      },
      now,
    );
    void doubted.ask(stop.signal).catch(() => undefined);
    const refusal = givesUp(live, now) ?? unwritableTooLong(writer, now);
    if (refusal !== null) stop.abort(refusal);
  }
  printer.end();
}

function productsOf({ catalogue }: Mirroring['mirror']): string {
  return counted(catalogue.products.count(), 'product');
}

function unwritableTooLong(writer: Mirroring['writer'], now: number): CataloguedError | null {
  const { trouble } = writer.status();
  if (trouble === null || now - trouble.since < giveUpAfterMs) return null;
  return writeRefusalOf(trouble.kind);
}

function peakMemory(): number {
  return Math.round(process.resourceUsage().maxRSS / 1024);
}
