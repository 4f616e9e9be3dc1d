import type { Deadline } from '../../clock.ts';
import type { CheckReason, SaleState, Unanswered } from '../../domain/checks/check.ts';
import { isGoneBy } from '../../domain/sale/absence.ts';
import { checkRetryMs } from '../../domain/schedule/backoff.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { ReadDate } from '../../mirror/checks.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import { type AvailabilityRead, readAvailability, type SaidNow } from '../reads/availability.ts';
import { commitTogether } from '../reads/commit.ts';
import { doubtSaleStatus } from '../reads/off-sale-answer.ts';
import type { Ports, SyncPorts } from '../records/context.ts';

/** Whether dates were spoken of: see `AvailabilityRead`. */
type Said = Pick<Extract<AvailabilityRead, { kind: 'stored' }>, 'sale' | 'unanswered' | 'sent_at'>;

/** What a live read came to, for whoever waited for it. */
export type Landing =
  | ({
      readonly kind: 'answered';
      /** What was answered, where the mirror cannot be written and does not have it yet. */
      readonly said?: SaidNow;
    } & Said)
  /** The service no longer has the product. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unanswered'; readonly reason: Unanswered };

/** One live read of a window, and what all who wait for it have in common. */
export interface Flight {
  /** What the mirror showed when the first of them asked, by date. */
  readonly shown: Map<string, ReadDate | null>;
  readonly sale: SaleState;
  /** What was found out after it landed, by question. */
  readonly found: Map<string, unknown>;
}

/** Live reads in the checkout lane: one call for all who ask for the same window of a product before it is sent. */
export interface Flights extends AsyncDisposable {
  /**
   * Waits for a live read of the window that is sent from now on: an answer that is on its way already may be older than
   * the question. Those who ask while a call is on its way share the next one. Never waits longer than `deadline_ms`. Rejects with the reason of an aborted signal, which ends the waiting of this one only. A read that
   * nobody waits for any more is given up where it was not sent yet; sent, it has a little longer, and is stored as any other.
   */
  board(
    key: RecordKey,
    wait: { deadline_ms: number; signal: AbortSignal },
  ): { flight: Flight; landing: Promise<Landing> };
  /** The same for whoever needs the landing alone, stored. */
  recheck(key: RecordKey, wait: { deadline_ms: number; signal: AbortSignal }): Promise<Landing>;
  /** Whether a read of the window is yet to be sent: to share it costs no call. */
  waits(key: RecordKey): boolean;
  /** Resolves when what was answered so far is stored too. */
  stored(): Promise<void>;
}

interface Passenger {
  /** The instant on the clock until which it waits, and the same on the clock that never jumps. */
  readonly until: number;
  readonly late_at: number;
  land(landing: Landing): void;
  fail(error: unknown): void;
}

interface Flying extends Flight {
  readonly key: RecordKey;
  readonly passengers: Set<Passenger>;
  /** Resolves when it may be sent: the call before it for the same window has landed, or has taken long enough. */
  readonly cleared: Promise<void>;
  /** For whoever waits the shortest: one timer, however many wait. */
  timer: (Deadline & { readonly at: number }) | null;
  readonly stop: AbortController;
  readonly over: Promise<void>;
  /** Resolves when all who waited for it were told. */
  readonly landing: Promise<void>;
  readonly landed: () => void;
  /** On the clock that never jumps; null: not yet. */
  sent_at: number | null;
}

/** Calls for one window go one after the other, but none waits longer for the one before: a service may hang. */
const turnMs = 1000;
/** A call that nobody waits for keeps its place in the budget no longer than this. */
const abandonedMs = 5000;

export function createFlights({ upstream, ...given }: Ports, limiter: Pick<Limiter, 'pause'>): Flights {
  const { mirror, clock, chance, log } = given;
  const ports: SyncPorts = { ...given, upstream: upstream.in('checkout'), progressed: () => undefined };
  const { commit, flush, close } = commitTogether(given);
  /** Those that are not sent yet: somebody may join them. */
  const flying = new Map<string, Flying>();
  /** Those that were sent, by window. */
  const sent = new Map<string, Flying>();
  const airborne = new Set<Flying>();
  /** Answered, and perhaps not stored yet. */
  const landed = new Set<Promise<void>>();
  let stopped = false;

  /** The pause in which nobody calls, and why; null where there is none. */
  function pause(): { until: number; reason: Unanswered } | null {
    const { not_before, unreachable_since } = limiter.pause();
    if (not_before <= clock.now()) return null;
    return { until: not_before, reason: unreachable_since === null ? 'throttled' : 'service-unreachable' };
  }

  function board(key: RecordKey, { deadline_ms, signal }: { deadline_ms: number; signal: AbortSignal }) {
    signal.throwIfAborted();
    const known = flying.get(idOf(key));
    const until = clock.now() + deadline_ms;
    const paused = pause();
    if (stopped || (paused !== null && paused.until > until)) {
      const landing = Promise.resolve(unanswered(stopped || paused === null ? 'stopping' : paused.reason));
      return { flight: known ?? { shown: new Map(), sale: saleOf(key), found: new Map() }, landing };
    }
    const flight = known ?? takeOff(key);
    return { flight, landing: waitFor(flight, until, deadline_ms, signal) };
  }

  function waitFor(flight: Flying, until: number, deadline_ms: number, signal: AbortSignal): Promise<Landing> {
    const { promise, resolve, reject } = Promise.withResolvers<Landing>();
    const leave = () => {
      flight.passengers.delete(passenger);
      signal.removeEventListener('abort', gone);
      giveUp(flight);
    };
    const gone = () => {
      leave();
      reject(signal.reason);
    };
    const passenger: Passenger = {
      until,
      late_at: clock.monotonic() + deadline_ms,
      land: (landing) => {
        leave();
        resolve(landing);
      },
      fail: (error) => {
        leave();
        reject(error);
      },
    };
    flight.passengers.add(passenger);
    signal.addEventListener('abort', gone, { once: true });
    if (flight.timer === null || passenger.late_at < flight.timer.at) watch(flight, passenger.late_at);
    return promise;
  }

  /** At that instant those leave who do not wait any longer; then the next one is watched for. */
  function watch(flight: Flying, at: number): void {
    flight.timer?.[Symbol.dispose]();
    const late = clock.deadline(Math.max(0, at - clock.monotonic()));
    flight.timer = { ...late, at };
    const due = () => {
      flight.timer = null;
      if (flight.passengers.size === 0) return abandon(flight);
      const reason = whyLate();
      for (const passenger of [...flight.passengers]) if (passenger.late_at <= at) passenger.land(unanswered(reason));
      const next = flight.passengers
        .values()
        .reduce((least, { late_at }) => Math.min(least, late_at), Number.POSITIVE_INFINITY);
      if (Number.isFinite(next)) watch(flight, next);
      return undefined;
    };
    late.signal.addEventListener('abort', due, { once: true });
  }

  function whyLate(): Unanswered {
    if (limiter.pause().unreachable_since !== null) return 'service-unreachable';
    return pause()?.reason ?? 'deadline';
  }

  /** Nobody waits any more: what was not asked is not asked. */
  function giveUp(flight: Flying): void {
    if (flight.passengers.size > 0) return;
    flight.timer?.[Symbol.dispose]();
    flight.timer = null;
    if (landed.has(flight.over)) return;
    if (flight.sent_at === null) abandon(flight);
    else watch(flight, clock.monotonic() + abandonedMs);
  }

  function abandon(flight: Flying): void {
    forget(flight);
    flight.stop.abort(new Error('nobody waits for this read any more'));
  }

  function forget(flight: Flying): void {
    const id = idOf(flight.key);
    if (flying.get(id) === flight) flying.delete(id);
    if (sent.get(id) === flight) sent.delete(id);
  }

  /** The service is asked from now on: nobody may join any more. */
  function sends(flight: Flying): void {
    flight.sent_at = clock.monotonic();
    const id = idOf(flight.key);
    if (flying.get(id) === flight) flying.delete(id);
    sent.set(id, flight);
  }

  /** When the call that is under way for the same window has landed, or has taken long enough. */
  async function clearance(key: RecordKey, stop: AbortSignal): Promise<void> {
    const before = sent.get(idOf(key));
    if (before?.sent_at == null) return;
    const left = before.sent_at + turnMs - clock.monotonic();
    if (left <= 0) return;
    using over = clock.deadline(left, stop);
    const { promise, resolve } = Promise.withResolvers<void>();
    over.signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([before.landing, promise]);
  }

  function takeOff(key: RecordKey): Flying {
    const over = Promise.withResolvers<void>();
    const landing = Promise.withResolvers<void>();
    const stop = new AbortController();
    const flight: Flying = {
      key,
      passengers: new Set(),
      timer: null,
      stop,
      cleared: clearance(key, stop.signal),
      over: over.promise,
      landing: landing.promise,
      landed: landing.resolve,
      sent_at: null,
      shown: new Map(),
      sale: saleOf(key),
      found: new Map(),
    };
    flying.set(idOf(key), flight);
    airborne.add(flight);
    fly(flight)
      .then(
        (landing) => land(flight, landing),
        (error: unknown) => {
          if (!flight.stop.signal.aborted) log.error({ ...key, err: error }, 'a live read threw');
          forget(flight);
          landed.add(flight.over);
          for (const passenger of [...flight.passengers]) passenger.fail(error);
        },
      )
      .finally(() => {
        flight.landed();
        landed.delete(flight.over);
        airborne.delete(flight);
        over.resolve();
      });
    return flight;
  }

  function land(flight: Flying, landing: Landing): void {
    forget(flight);
    landed.add(flight.over);
    for (const passenger of [...flight.passengers]) passenger.land(landing);
    flight.landed();
  }

  /** Asks until there is an answer, or nobody waits for longer than the service wants to be left alone. */
  async function fly(flight: Flying): Promise<Landing> {
    const { key, stop, passengers } = flight;
    await flight.cleared;
    stop.signal.throwIfAborted();
    for (let failures = 0; ; ) {
      const record = mirror.records.find(key);
      if (record === null) return unanswered('outside-horizon');
      flight.sent_at = null;
      const read = await readAvailability(
        ports,
        { ...record, due_reason: 'live-check' },
        {
          signal: stop.signal,
          commit,
          // What stands in the mirror already: no shopper waits for the disk.
          confirmed: (sent_at) => land(flight, { kind: 'answered', sale: 'on', unanswered: [], sent_at }),
          late: (said) =>
            land(flight, { kind: 'answered', sale: said.sale, unanswered: [], sent_at: said.sent_at, said }),
          sent: () => sends(flight),
        },
      );
      if (read.kind === 'stored') return { ...read, kind: 'answered' };
      const reason = reasonOf(read);
      // Of an outage the daemon tells by itself: not once for every check.
      const away = read.kind === 'throttled' || read.kind === 'unreachable';
      log[away ? 'debug' : 'warn']({ ...key, ...read, reason }, 'a live read was not answered');
      if (read.kind === 'refused' && (read.status === 404 || read.status === 410))
        void commit(() => doubtSaleStatus(ports, key.product_id), 'soon').catch(() => undefined);
      if (read.kind === 'refused' && isGoneBy(read.status, mirror.removals.one(key.product_id)))
        return { kind: 'gone' };
      if (read.kind === 'refused') return unanswered(reason);
      flight.sent_at = null;
      // What failed is tried again while a shopper has the time.
      if (read.kind === 'failed') failures += 1;
      const rest = read.kind === 'failed' ? checkRetryMs(failures, chance()) : 0;
      const until = Math.max(pause()?.until ?? 0, clock.now() + rest);
      for (const passenger of [...passengers]) if (passenger.until <= until) passenger.land(unanswered(reason));
      if (passengers.size === 0) return unanswered(reason);
      if (rest > 0) await clock.sleep(rest, stop.signal);
    }
  }

  async function stored(): Promise<void> {
    flush();
    await Promise.all([...landed]);
  }

  function saleOf({ product_id }: RecordKey): SaleState {
    return mirror.checks.saleState(product_id) ?? 'withdrawn';
  }

  return {
    board,
    waits: (key) => flying.has(idOf(key)),
    recheck: async (key, wait) => {
      const landing = await board(key, wait).landing;
      await stored();
      return landing;
    },
    stored,
    [Symbol.asyncDispose]: async () => {
      stopped = true;
      for (const flight of [...airborne]) {
        land(flight, unanswered('stopping'));
        flight.stop.abort(new Error('the checks are closed'));
      }
      close();
      await stored();
    },
  };
}

function reasonOf(read: Exclude<AvailabilityRead, { kind: 'stored' }>): Unanswered {
  switch (read.kind) {
    case 'throttled':
      return 'throttled';
    case 'unreachable':
      return 'service-unreachable';
    case 'refused':
      return read.status === 401 ? 'key-refused' : 'service-refused';
    case 'failed':
      return read.code === 'other-dates' ? 'other-dates' : 'service-failed';
    default:
      return 'service-failed' satisfies CheckReason;
  }
}

function unanswered(reason: Unanswered): Landing {
  return { kind: 'unanswered', reason };
}

function idOf({ product_id, edition, part }: RecordKey): string {
  return `${product_id} ${edition} ${part}`;
}
