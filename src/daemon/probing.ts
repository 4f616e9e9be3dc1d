import { existsSync } from 'node:fs';
import type { LoadedConfig } from '../config/load.ts';
import { acquireLock } from '../kernel/sqlite/lock.ts';
import { type ProbeReport, type ProbeSettings, probeService } from '../says/probe/probe.ask.ts';
import type { ProbedService } from '../says/probe/probe-calls.ask.ts';
import { laneShares } from '../schedule/lanes.rules.ts';
import { callLimits } from '../service/call-limits.ts';
import { Limiter } from '../service/limiter.ts';
import { createRawReads } from '../service/raw-reads.ts';
import { serviceClock } from '../service/service-clock.ts';
import type { Machine } from './machine.ts';
import { openMirroring } from './mirroring.ts';
import { askerOf } from './service.ts';
import { isOneOfSeveral, onlyTheLeader } from './sharing/sharing.ts';

/** The rate of a probe in calls a second: measuring a service must not change its behaviour. */
const politeCallsASecond = 1.5;

export type ProbeProgress = (calls: number, asking: string) => void;

/** Probes through the limiter of a running daemon or of the caller. */
export function probeThrough(
  service: ProbedService,
  config: LoadedConfig['config'],
  signal: AbortSignal,
  { progressed, calls_a_second = politeCallsASecond }: { progressed?: ProbeProgress; calls_a_second?: number } = {},
): Promise<ProbeReport> {
  return probeService(service, settingsOf(config, calls_a_second), signal, progressed);
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
  await using stack = new AsyncDisposableStack();
  return await probeThrough(connectAlone(stack, machine, loaded), config, signal, pace);
}

/** The way to the service before the first start. */
interface AloneConnection extends ProbedService {
  /** Milliseconds by which our clock is behind the service's; null if it has sent no Date. */
  readonly offset: () => number | null;
}

/** Connects to the service before the first start, without making a file. Takes the lock if there is something to lock (75). */
export function connectAlone(
  stack: AsyncDisposableStack,
  { clock, chance }: Machine,
  loaded: LoadedConfig,
): AloneConnection {
  if (isOneOfSeveral(loaded)) throw onlyTheLeader();
  const { config } = loaded;
  if (existsSync(config.mirror.state_dir)) stack.use(acquireLock(config.mirror.state_dir));
  const { profile } = config.service;
  const limiter = stack.use(
    new Limiter({
      budget: { ...config.budget, lanes: laneShares },
      clock,
      chance,
      learned: null,
      throttled: () => undefined,
    }),
  );
  const { heard, offset } = serviceClock();
  const asker = askerOf(stack, loaded, { clock, connections: 1, heard }).withoutFilters();
  const limits = callLimits(profile.timeout).list;
  return { raw: createRawReads({ asker, limiter, clock, limits }), clock, offset };
}

function settingsOf({ service }: LoadedConfig['config'], calls_a_second: number): ProbeSettings {
  const { paths, first_page, page_size, days_per_request, throttle_statuses } = service.profile;
  return {
    calls_a_second,
    paths,
    first_page,
    page_size,
    days_per_request,
    throttle_statuses,
    languages: service.languages,
    currencies: service.currencies,
  };
}
