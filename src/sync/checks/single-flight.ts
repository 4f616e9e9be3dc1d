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

/** What an answer said of the sale status and of which dates it said nothing: see `AvailabilityRead`. */
type Said = Pick<Extract<AvailabilityRead, { kind: 'stored' }>, 'sale' | 'unanswered' | 'sent_at'>;

/** The result of a live read, as every waiter gets it. */
export type LiveResult =
  | ({
      readonly kind: 'answered';
      /** What was answered, where the mirror cannot be written and does not have it yet. */
      readonly said?: SaidNow;
    } & Said)
  /** The service no longer has the product. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unanswered'; readonly reason: Unanswered };

/** One live read of a window, with what all its waiters share. */
export interface SharedCall {
  /** What the mirror showed when the first of them asked, by date. */
  readonly shown: Map<string, ReadDate | null>;
  readonly sale: SaleState;
  /** What was concluded from the answer, by question. */
  readonly found: Map<string, unknown>;
}

/** Live reads in the checkout lane: one call for all who ask for the same window of a product before it is sent. */
export interface SingleFlight extends AsyncDisposable {
  /**
   * Waits for a live read of the window that has not been sent yet: a call already in flight may answer with something
   * older than the question, so callers that arrive meanwhile share the next one. Never waits longer than `deadline_ms`.
   * Rejects with the signal's reason when it aborts, which ends this waiter only. A read without waiters is dropped
   * before it is sent; once sent, it gets a little longer, and its answer is stored like any other.
   */
  join(
    key: RecordKey,
    wait: { deadline_ms: number; signal: AbortSignal },
  ): { call: SharedCall; result: Promise<LiveResult> };
  /** Does the same for a caller that needs only the result, and resolves when it is stored. */
  recheck(key: RecordKey, wait: { deadline_ms: number; signal: AbortSignal }): Promise<LiveResult>;
  /** Tells whether a read of the window has yet to be sent: sharing it costs no call. */
  waits(key: RecordKey): boolean;
  /** Resolves when every answer so far is stored. */
  stored(): Promise<void>;
}

interface Waiter {
  /** The instant until which it waits, by the wall clock and by the monotonic one. */
  readonly until: number;
  readonly late_at: number;
  settle(result: LiveResult): void;
  fail(error: unknown): void;
}

interface PendingCall extends SharedCall {
  readonly key: RecordKey;
  readonly waiters: Set<Waiter>;
  /** Resolves when it may be sent: the previous call for the same window was answered, or has taken long enough. */
  readonly turn: Promise<void>;
  /** Fires for the waiter with the least time left: one timer, however many wait. */
  timer: (Deadline & { readonly at: number }) | null;
  readonly stop: AbortController;
  readonly over: Promise<void>;
  /** Resolves when all its waiters have their result. */
  readonly told: Promise<void>;
  readonly allTold: () => void;
  /** By the monotonic clock; null: not sent yet. */
  sent_at: number | null;
}

/** Calls for one window take turns, but none waits longer than this for the previous one: a service may hang. */
const turnMs = 1000;
/** How long a call without waiters keeps its place in the budget. */
const abandonedMs = 5000;

export function createSingleFlight({ upstream, ...given }: Ports, limiter: Pick<Limiter, 'pause'>): SingleFlight {
  const { mirror, clock, chance, log } = given;
  const ports: SyncPorts = { ...given, upstream: upstream.in('checkout'), progressed: () => undefined };
  const { commit, flush, close } = commitTogether(given);
  /** Calls that have not been sent yet, by window: waiters may join them. */
  const joinable = new Map<string, PendingCall>();
  /** Calls in flight, by window. */
  const sent = new Map<string, PendingCall>();
  const underWay = new Set<PendingCall>();
  /** Answered calls that may not be stored yet. */
  const storing = new Set<Promise<void>>();
  let stopped = false;

  /** Returns the pause in which no call may be sent, and its reason; null where there is none. */
  function pause(): { until: number; reason: Unanswered } | null {
    const { not_before, unreachable_since } = limiter.pause();
    if (not_before <= clock.now()) return null;
    return { until: not_before, reason: unreachable_since === null ? 'throttled' : 'service-unreachable' };
  }

  function join(key: RecordKey, { deadline_ms, signal }: { deadline_ms: number; signal: AbortSignal }) {
    signal.throwIfAborted();
    const known = joinable.get(idOf(key));
    const until = clock.now() + deadline_ms;
    const paused = pause();
    if (stopped || (paused !== null && paused.until > until)) {
      const result = Promise.resolve(unanswered(stopped || paused === null ? 'stopping' : paused.reason));
      return { call: known ?? { shown: new Map(), sale: saleOf(key), found: new Map() }, result };
    }
    const call = known ?? start(key);
    return { call, result: waitFor(call, until, deadline_ms, signal) };
  }

  function waitFor(call: PendingCall, until: number, deadline_ms: number, signal: AbortSignal): Promise<LiveResult> {
    const { promise, resolve, reject } = Promise.withResolvers<LiveResult>();
    const leave = () => {
      call.waiters.delete(waiter);
      signal.removeEventListener('abort', gone);
      giveUp(call);
    };
    const gone = () => {
      leave();
      reject(signal.reason);
    };
    const waiter: Waiter = {
      until,
      late_at: clock.monotonic() + deadline_ms,
      settle: (result) => {
        leave();
        resolve(result);
      },
      fail: (error) => {
        leave();
        reject(error);
      },
    };
    call.waiters.add(waiter);
    signal.addEventListener('abort', gone, { once: true });
    if (call.timer === null || waiter.late_at < call.timer.at) watch(call, waiter.late_at);
    return promise;
  }

  /** Answers the waiters whose time is up at that instant, then sets the timer for the next one. */
  function watch(call: PendingCall, at: number): void {
    call.timer?.[Symbol.dispose]();
    const late = clock.deadline(Math.max(0, at - clock.monotonic()));
    call.timer = { ...late, at };
    const due = () => {
      call.timer = null;
      if (call.waiters.size === 0) return abandon(call);
      const reason = whyLate();
      for (const waiter of [...call.waiters]) if (waiter.late_at <= at) waiter.settle(unanswered(reason));
      const next = call.waiters
        .values()
        .reduce((least, { late_at }) => Math.min(least, late_at), Number.POSITIVE_INFINITY);
      if (Number.isFinite(next)) watch(call, next);
      return undefined;
    };
    late.signal.addEventListener('abort', due, { once: true });
  }

  function whyLate(): Unanswered {
    if (limiter.pause().unreachable_since !== null) return 'service-unreachable';
    return pause()?.reason ?? 'deadline';
  }

  /** Called when a waiter leaves: a call without waiters is dropped, or kept a little longer once sent. */
  function giveUp(call: PendingCall): void {
    if (call.waiters.size > 0) return;
    call.timer?.[Symbol.dispose]();
    call.timer = null;
    if (storing.has(call.over)) return;
    if (call.sent_at === null) abandon(call);
    else watch(call, clock.monotonic() + abandonedMs);
  }

  function abandon(call: PendingCall): void {
    forget(call);
    call.stop.abort(new Error('nobody waits for this read any more'));
  }

  function forget(call: PendingCall): void {
    const id = idOf(call.key);
    if (joinable.get(id) === call) joinable.delete(id);
    if (sent.get(id) === call) sent.delete(id);
  }

  /** Called when the request is sent: from now on nobody may join. */
  function sends(call: PendingCall): void {
    call.sent_at = clock.monotonic();
    const id = idOf(call.key);
    if (joinable.get(id) === call) joinable.delete(id);
    sent.set(id, call);
  }

  /** Resolves when the call in flight for the same window was answered, or has taken long enough. */
  async function turnOf(key: RecordKey, stop: AbortSignal): Promise<void> {
    const before = sent.get(idOf(key));
    if (before?.sent_at == null) return;
    const left = before.sent_at + turnMs - clock.monotonic();
    if (left <= 0) return;
    using over = clock.deadline(left, stop);
    const { promise, resolve } = Promise.withResolvers<void>();
    over.signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([before.told, promise]);
  }

  function start(key: RecordKey): PendingCall {
    const over = Promise.withResolvers<void>();
    const told = Promise.withResolvers<void>();
    const stop = new AbortController();
    const call: PendingCall = {
      key,
      waiters: new Set(),
      timer: null,
      stop,
      turn: turnOf(key, stop.signal),
      over: over.promise,
      told: told.promise,
      allTold: told.resolve,
      sent_at: null,
      shown: new Map(),
      sale: saleOf(key),
      found: new Map(),
    };
    joinable.set(idOf(key), call);
    underWay.add(call);
    run(call)
      .then(
        (result) => settle(call, result),
        (error: unknown) => {
          if (!call.stop.signal.aborted) log.error({ ...key, err: error }, 'a live read threw');
          forget(call);
          storing.add(call.over);
          for (const waiter of [...call.waiters]) waiter.fail(error);
        },
      )
      .finally(() => {
        call.allTold();
        storing.delete(call.over);
        underWay.delete(call);
        over.resolve();
      });
    return call;
  }

  function settle(call: PendingCall, result: LiveResult): void {
    forget(call);
    storing.add(call.over);
    for (const waiter of [...call.waiters]) waiter.settle(result);
    call.allTold();
  }

  /** Asks until there is an answer, or no waiter's deadline lies beyond the pause the service asked for. */
  async function run(call: PendingCall): Promise<LiveResult> {
    const { key, stop, waiters } = call;
    await call.turn;
    stop.signal.throwIfAborted();
    for (let failures = 0; ; ) {
      const record = mirror.records.find(key);
      if (record === null) return unanswered('outside-horizon');
      call.sent_at = null;
      const read = await readAvailability(
        ports,
        { ...record, due_reason: 'live-check' },
        {
          signal: stop.signal,
          commit,
          // The mirror has it already: no shopper waits for the disk.
          confirmed: (sent_at) => settle(call, { kind: 'answered', sale: 'on', unanswered: [], sent_at }),
          late: (said) =>
            settle(call, { kind: 'answered', sale: said.sale, unanswered: [], sent_at: said.sent_at, said }),
          sent: () => sends(call),
        },
      );
      if (read.kind === 'stored') return { ...read, kind: 'answered' };
      const reason = reasonOf(read);
      // The daemon reports an outage itself: not once for every check.
      const away = read.kind === 'throttled' || read.kind === 'unreachable';
      log[away ? 'debug' : 'warn']({ ...key, ...read, reason }, 'a live read was not answered');
      if (read.kind === 'refused' && (read.status === 404 || read.status === 410))
        void commit(() => doubtSaleStatus(ports, key.product_id), 'soon').catch(() => undefined);
      if (read.kind === 'refused' && isGoneBy(read.status, mirror.removals.one(key.product_id)))
        return { kind: 'gone' };
      if (read.kind === 'refused') return unanswered(reason);
      call.sent_at = null;
      // A failed read is tried again while a waiter has time left.
      if (read.kind === 'failed') failures += 1;
      const rest = read.kind === 'failed' ? checkRetryMs(failures, chance()) : 0;
      const until = Math.max(pause()?.until ?? 0, clock.now() + rest);
      for (const waiter of [...waiters]) if (waiter.until <= until) waiter.settle(unanswered(reason));
      if (waiters.size === 0) return unanswered(reason);
      if (rest > 0) await clock.sleep(rest, stop.signal);
    }
  }

  async function stored(): Promise<void> {
    flush();
    await Promise.all([...storing]);
  }

  function saleOf({ product_id }: RecordKey): SaleState {
    return mirror.checks.saleState(product_id) ?? 'withdrawn';
  }

  return {
    join,
    waits: (key) => joinable.has(idOf(key)),
    recheck: async (key, wait) => {
      const result = await join(key, wait).result;
      await stored();
      return result;
    },
    stored,
    [Symbol.asyncDispose]: async () => {
      stopped = true;
      for (const call of [...underWay]) {
        settle(call, unanswered('stopping'));
        call.stop.abort(new Error('the checks are closed'));
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

function unanswered(reason: Unanswered): LiveResult {
  return { kind: 'unanswered', reason };
}

function idOf({ product_id, edition, part }: RecordKey): string {
  return `${product_id} ${edition} ${part}`;
}
