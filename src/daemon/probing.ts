import { existsSync } from 'node:fs';
import type { LoadedConfig } from '../config/load.ts';
import { acquireLock } from '../sqlite/lock.ts';
import { type ProbeReport, type ProbeSettings, probeService } from '../sync/reports/probe.ts';
import type { ProbePorts } from '../sync/reports/probe-calls.ts';
import { createLimiter } from '../upstream/limiter.ts';
import { createRawReads } from '../upstream/raw-reads.ts';
import type { Machine } from './machine.ts';
import { openMirroring } from './mirroring.ts';
import { askerOf } from './service.ts';
import { isOneOfSeveral, onlyTheLeader } from './sharing/sharing.ts';

/** The rate of a probe in calls a second: measuring a service must not change its behaviour. */
const politeCallsASecond = 1.5;

export type ProbeProgress = (calls: number, asking: string) => void;

/** Probes through the limiter of a running daemon or of the caller. */
export function probeThrough(
  ports: Omit<ProbePorts, 'calls_a_second'>,
  config: LoadedConfig['config'],
  signal: AbortSignal,
  { progressed, calls_a_second = politeCallsASecond }: { progressed?: ProbeProgress; calls_a_second?: number } = {},
): Promise<ProbeReport> {
  return probeService({ ...ports, calls_a_second }, settingsOf(config), signal, progressed);
}

/**
 * Probes without a daemon: holds the lock (75), and respects a pause that the service imposed on an earlier process.
 * Creates no file before the first start.
 */
export async function probeAlone(
  machine: Machine,
  loaded: LoadedConfig,
  signal: AbortSignal,
  pace: { readonly progressed?: ProbeProgress; readonly calls_a_second?: number } = {},
): Promise<ProbeReport> {
  const { config } = loaded;
  if (existsSync(config.mirror.path)) {
    await using mirroring = await openMirroring(machine, loaded);
    return await probeThrough(mirroring, config, signal, pace);
  }
  if (isOneOfSeveral(loaded)) throw onlyTheLeader();
  const { clock, chance } = machine;
  await using stack = new AsyncDisposableStack();
  if (existsSync(config.mirror.state_dir)) stack.use(acquireLock(config.mirror.state_dir));
  const { profile } = config.service;
  const limiter = stack.use(
    createLimiter({
      budget: config.budget,
      clock,
      chance,
      burst_statuses: profile.burst_statuses,
      learned: null,
      throttled: () => undefined,
    }),
  );
  const asker = askerOf(stack, loaded, { clock, connections: 1 }).withoutFilters();
  const limits = { deadline_ms: profile.timeouts.list, max_bytes: profile.max_bytes.list };
  const raw = createRawReads({ asker, limiter, clock, limits });
  return await probeThrough({ raw, clock }, config, signal, pace);
}

function settingsOf({ service }: LoadedConfig['config']): ProbeSettings {
  const { paths, first_page, page_size, days_per_request, throttle_statuses } = service.profile;
  return {
    paths,
    first_page,
    page_size,
    days_per_request,
    throttle_statuses,
    languages: service.languages,
    currencies: service.currencies,
  };
}
