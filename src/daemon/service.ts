import type { Config, LoadedConfig } from '../config/load.ts';
import type { Writer } from '../files/writer.ts';
import { type Clock, DeadlineExceeded } from '../kernel/clock.ts';
import { duration } from '../kernel/format.ts';
import { publishable } from '../kernel/values/public-address.ts';
import { laneShares } from '../schedule/lanes.rules.ts';
import type { ListQuestion } from '../service/adapter.rules.ts';
import type { Budget } from '../service/budget.rules.ts';
import { callLimits, stageLimits } from '../service/call-limits.ts';
import { connectionsFor } from '../service/call-turns.ts';
import { createUpstream, type Upstream } from '../service/client.ts';
import { createHttp, type HttpPorts } from '../service/http.ts';
import { Limiter, type Pause } from '../service/limiter.ts';
import { failed, type Outcome } from '../service/outcome.ts';
import { createRawReads, type RawReads } from '../service/raw-reads.ts';
import { type CameText, ServiceAsker } from '../service/service-asker.ts';
import { type ServiceClock, serviceClock } from '../service/service-clock.ts';
import type { OpenFiles } from './files.ts';
import type { Machine } from './machine.ts';
import type { Sharing } from './sharing/sharing.ts';

/** The client of the service. All calls use its one limiter and one pool of connections. */
export interface ServiceConnection {
  readonly limiter: Limiter;
  readonly asker: ServiceAsker;
  readonly upstream: Upstream;
  /** Sends any GET and returns the answer undecoded, for the probe. */
  readonly raw: RawReads;
  /** Requests a list of one row, which shows whether the service answers and accepts the key. */
  probe(signal: AbortSignal): Promise<Outcome>;
  /** The difference between our clock and the service's. */
  readonly serviceClock: ServiceClock;
}

/** Connects the client, which is closed with the stack. The limiter's learned rate is stored in the mirror. */
export function connectService(
  stack: AsyncDisposableStack,
  { chance, log, network }: Machine,
  loaded: LoadedConfig,
  { mirror, clock, writer }: OpenFiles & { readonly writer: Writer },
  sharing: Sharing | null,
): ServiceConnection {
  const { service, images, budget } = loaded.config;
  const { page_size, timeout, retry_after } = service.profile;
  const leadership = sharing?.leadership;
  const save = (learned: Budget) => mirror.transaction(() => mirror.schedule.budget.saveLearned(learned));
  // Starts with the rate that an earlier process learned, and stores its own for the next one.
  const limiter = stack.use(
    new Limiter({
      budget: { ...budget, lanes: laneShares },
      clock,
      chance,
      leadership,
      retry_after,
      learned: mirror.schedule.budget.learned(),
      throttled: (learned) => writer.soon('budget', () => save(learned)),
    }),
  );
  stack.defer(() => writer.soon('budget', () => save(limiter.learned())));
  const ownClock = serviceClock((offset_ms) => log.warn({ offset_ms }, "our clock differs from the service's"));
  const heard = (offset: number | null) => {
    const date = offset === null ? null : clock.now() + offset;
    clock.heard(date);
    ownClock.heard(date === null ? null : date - clock.now());
  };
  const asker = askerOf(stack, loaded, {
    clock,
    connections: connectionsFor(budget.concurrency),
    heard,
    offset: () => (clock.look().asks ? null : ownClock.offset()),
    late: (ms) => limiter.late(ms),
    maySend: () => leadership?.trusted() ?? true,
  });
  const limits = callLimits(timeout);
  const upstream = createUpstream({
    asker,
    limiter,
    page_size,
    limits,
    commission: loaded.config.mirror.commission,
    mayPublish: publishable([...images.hosts, ...network.imageHost.addresses]),
  });
  return {
    limiter,
    asker,
    upstream,
    raw: createRawReads({ asker: asker.withoutFilters(), limiter, clock, limits: limits.list }),
    probe: proberOf(service, { asker: asker.withoutFilters(), limiter, clock }),
    serviceClock: ownClock,
  };
}

/** Connects to the service through the adapter that is configured. The connections are closed with the stack. */
export function askerOf(
  stack: AsyncDisposableStack,
  { config, secrets, adapter }: LoadedConfig,
  own: HttpPorts,
): ServiceAsker {
  const { service, signing } = config;
  const { base_url, user_agent, profile, select } = service;
  const { timeout, throttle_statuses } = profile;
  const timeouts = stageLimits(timeout);
  const key = secrets.api_key;
  const http = stack.use(createHttp({ base_url, key, user_agent, timeouts, throttle_statuses, ...own }));
  const settings = { key, profile, select: queryOf(select), signing: signing.body, content_type: signing.content_type };
  return new ServiceAsker(http, adapter(), settings);
}

function proberOf(
  { languages, currencies, profile }: Config['service'],
  { asker, limiter, clock }: { readonly asker: ServiceAsker; readonly limiter: Limiter; readonly clock: Clock },
): ServiceConnection['probe'] {
  const limits = callLimits(profile.timeout).other;
  const [language, currency] = [languages[0], currencies[0]];
  const edition = { language, currency, ordered: false };
  const question = { kind: 'products', page: 1, after: null, page_size: 1, ...edition } as const;
  return async (signal) => {
    // While all calls wait, the reason is known: a person needs it sooner than another answer.
    const isPaused = limiter.pause().not_before > clock.now();
    using patience = clock.deadline(isPaused ? pausedPatienceMs : limits.deadline_ms, signal);
    const prepared = asker.prepare(question);
    if (prepared.kind === 'failed') return prepared;
    try {
      const ask = async (turn: AbortSignal): Promise<Outcome> => {
        const came = await asker.send(prepared, { ...limits, signal: turn });
        return came.kind === 'answer' ? (noList(asker, question, came) ?? came) : came;
      };
      return await limiter.run(ask, patience.signal, 'notification', question.kind, question.kind);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      return whyPaused(limiter.pause(), clock);
    }
  };
}

/** Milliseconds for which the end of a pause is waited for. */
const pausedPatienceMs = 8000;

function whyPaused({ away, asked }: Pause, clock: Clock): Outcome {
  if (away !== null) return { kind: 'unreachable', code: 'away', message: away.says };
  if (asked !== null)
    return failed('deadline', `it asks us to wait another ${duration(Math.max(0, asked.until - clock.now()))}`);
  return failed('deadline', 'no answer in time');
}

/** Returns why an answer is no product list; null: it is one. */
function noList(asker: ServiceAsker, question: ListQuestion, came: CameText): Outcome | null {
  try {
    asker.rows(question, came);
    return null;
  } catch (error) {
    return asker.undecodable(question, error, came.text);
  }
}

function queryOf(select: Config['service']['select']): Record<string, string | readonly string[]> {
  const { include_product_ids: _, exclude_product_ids: __, ...filters } = select;
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  );
}
