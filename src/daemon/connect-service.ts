import { type Chance, DeadlineExceeded } from '../clock.ts';
import type { Config, LoadedConfig } from '../config/load.ts';
import type { Budget } from '../domain/budget/budget.ts';
import { publishable } from '../domain/push/public-address.ts';
import type { Logger } from '../log.ts';
import { createUpstream, type Upstream, undecodable } from '../upstream/client.ts';
import { createHttp, type Http } from '../upstream/http.ts';
import { type CallLeadership, createLimiter, type Limiter } from '../upstream/limiter.ts';
import { type Failed, failed, type Outcome } from '../upstream/outcome.ts';
import { createRawReads, type RawReads } from '../upstream/raw-reads.ts';
import { exampleOf } from '../upstream/refusal.ts';
import { type ServiceClock, serviceClock } from '../upstream/service-clock.ts';
import { answered, elements } from '../upstream/shape.ts';
import { connectionsFor } from '../upstream/turns.ts';
import type { OpenFiles } from './open-files.ts';

/** The client of the service. All calls use its one limiter and one pool of connections. */
export interface ServiceConnection {
  readonly limiter: Limiter;
  readonly http: Http;
  readonly upstream: Upstream;
  /** Sends any GET and returns the answer undecoded, for the probe. */
  readonly raw: RawReads;
  /** Requests a list of one row, which shows whether the service answers and accepts the key. */
  probe(signal: AbortSignal): Promise<Outcome>;
  /** The difference between our clock and the service's. */
  readonly serviceClock: ServiceClock;
}

export interface ConnectOptions {
  readonly chance: Chance;
  readonly log: Logger;
  /** Addresses on this machine at which images may be. */
  readonly imageAddresses: readonly string[];
  /** Absent: this is the only instance. */
  readonly leadership?: CallLeadership | undefined;
}

/** Connects the client, which is closed with the stack. The limiter's learned rate is stored in the mirror. */
export function connectService(
  stack: AsyncDisposableStack,
  { config, secrets }: Pick<LoadedConfig, 'config' | 'secrets'>,
  opened: Pick<OpenFiles, 'mirror' | 'clock' | 'storage'>,
  { chance, log, imageAddresses, leadership }: ConnectOptions,
): ServiceConnection {
  const { clock } = opened;
  const { service, mirror, images } = config;
  const { profile } = service;
  const limiter = learningLimiter(stack, config, opened, { chance, leadership });
  const ownClock = serviceClock((offset_ms) => log.warn({ offset_ms }, "our clock differs from the service's"));
  const heard = (offset: number | null) => {
    const date = offset === null ? null : clock.now() + offset;
    clock.heard(date);
    ownClock.heard(date === null ? null : date - clock.now());
  };
  const http = stack.use(
    createHttp({
      ...connectionOf(config),
      key: secrets.api_key,
      clock,
      heard,
      late: limiter.late,
      maySend: leadership?.trusted,
    }),
  );
  const quote = (text: string) => exampleOf(text, secrets.api_key);
  const upstream = createUpstream({
    http,
    limiter,
    profile,
    select: queryOf(service.select),
    commission: mirror.commission,
    mayPublish: publishable([...images.hosts, ...imageAddresses]),
    quote,
  });
  const limits = { deadline_ms: profile.timeouts.list, max_bytes: profile.max_bytes.list };
  return {
    limiter,
    http,
    upstream,
    raw: createRawReads({ http, limiter, clock, limits }),
    probe: proberOf(profile, { http, limiter, clock, quote }),
    serviceClock: ownClock,
  };
}

/** Returns a limiter that starts with the rate learned by an earlier process, and stores its own for the next one. */
function learningLimiter(
  stack: AsyncDisposableStack,
  { budget, service }: Config,
  { mirror, clock, storage }: Pick<OpenFiles, 'mirror' | 'clock' | 'storage'>,
  { chance, leadership }: Pick<ConnectOptions, 'chance' | 'leadership'>,
): Limiter {
  const save = (learned: Budget) => mirror.transaction(() => mirror.budget.saveLearned(learned));
  const limiter = stack.use(
    createLimiter({
      budget,
      clock,
      chance,
      leadership,
      burst_statuses: service.profile.burst_statuses,
      retry_after: service.profile.retry_after,
      learned: mirror.budget.learned(),
      throttled: (learned) => storage.soon('budget', () => save(learned)),
    }),
  );
  stack.defer(() => storage.soon('budget', () => save(limiter.learned())));
  return limiter;
}

function connectionOf({ service, budget }: Config) {
  const { authorization, timeouts, throttle_statuses } = service.profile;
  return {
    base_url: service.base_url,
    authorization,
    user_agent: service.user_agent,
    timeouts,
    connections: connectionsFor(budget.concurrency),
    throttle_statuses,
  };
}

function proberOf(
  { parameters, paths, first_page, timeouts, max_bytes }: Config['service']['profile'],
  {
    http,
    limiter,
    clock,
    quote,
  }: Pick<ServiceConnection, 'http' | 'limiter'> & Pick<OpenFiles, 'clock'> & { quote(text: string): string },
): ServiceConnection['probe'] {
  const limits = { deadline_ms: timeouts.total, max_bytes: max_bytes.product };
  const query = { [parameters.page]: String(first_page), [parameters.page_size]: '1' };
  return async (signal) => {
    using patience = clock.deadline(timeouts.total, signal);
    try {
      const ask = async (turn: AbortSignal): Promise<Outcome> => {
        const came = await http.get(paths.products, query, { ...limits, signal: turn });
        return came.kind === 'answer' ? (noList(came.text, quote) ?? came) : came;
      };
      return await limiter.run(ask, patience.signal, 'notification', paths.products, paths.products);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      return failed('deadline', 'no answer in time, or it asked for a longer pause');
    }
  };
}

/** Returns the failure of an answer that is not a product list; null: it is one. */
function noList(text: string, quote: (text: string) => string): Failed | null {
  try {
    elements(answered(JSON.parse(text)).products, 'products');
    return null;
  } catch (error) {
    return undecodable(error, text, quote);
  }
}

function queryOf(select: Config['service']['select']): Record<string, string | readonly string[]> {
  const { include_product_ids: _, exclude_product_ids: __, ...filters } = select;
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  );
}
