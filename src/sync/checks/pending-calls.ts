import { setImmediate } from 'node:timers/promises';
import type { Clock, Deadline } from '../../clock.ts';
import type { SaleState } from '../../domain/checks/check.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { ReadDate } from '../../mirror/checks.ts';
import type { LiveResult } from './live-result.ts';

/** One live read of a window, with what all its waiters share. */
export interface SharedCall<Found> {
  /** What the mirror showed when the first of them asked, by date. */
  readonly shown: Map<string, ReadDate | null>;
  readonly sale: SaleState;
  /** What was concluded from the answer, by question. */
  readonly found: Map<string, Found>;
}

/** Somebody who waits for a call. */
export interface CallWaiter {
  /** The instant until which it waits, by the wall clock and by the monotonic one. */
  readonly until: number;
  readonly late_at: number;
  settle(result: LiveResult): void;
  fail(error: unknown): void;
}

export interface PendingCall<Found> extends SharedCall<Found> {
  readonly key: RecordKey;
  readonly waiters: Set<CallWaiter>;
  /**
   * Resolves when it may be sent: the previous call for the same window was answered, or has taken long enough, and all
   * who ask at the same time have joined.
   */
  readonly turn: Promise<void>;
  /** Fires for the waiter with the least time left: one timer, however many wait. */
  timer: (Deadline & { readonly at: number }) | null;
  readonly stop: AbortController;
  readonly over: PromiseWithResolvers<void>;
  /** Resolves when all its waiters have their result. */
  readonly told: PromiseWithResolvers<void>;
  /** By the monotonic clock; null: not sent yet. */
  sent_at: number | null;
}

/** The calls that have not ended. */
export interface PendingCalls<Found> {
  /** Returns the call for a window that has not been sent yet: more may wait for it. */
  joinable(key: RecordKey): PendingCall<Found> | undefined;
  /** Returns a new one, to be sent when it is its turn. */
  begin(key: RecordKey, sale: SaleState): PendingCall<Found>;
  /** Called when the request is sent: from now on nobody may join. */
  sends(call: PendingCall<Found>): void;
  /** Drops a call that nobody waits for. */
  abandon(call: PendingCall<Found>): void;
  /** Tells all its waiters; what it brought may still have to be stored. */
  tell(call: PendingCall<Found>, one: (waiter: CallWaiter) => void): void;
  isTold(call: PendingCall<Found>): boolean;
  /** What it brought is stored. */
  end(call: PendingCall<Found>): void;
  all(): PendingCall<Found>[];
  /** Resolves when every call whose waiters were told has ended. */
  stored(): Promise<void>;
}

/** Calls for one window take turns, but none waits longer than this for the previous one: a service may hang. */
const turnMs = 1000;
/** Turns of the event loop that a call waits for, as long as each brings more who share it: without a pause. */
const joiningTurns = 3;

export function pendingCalls<Found>(clock: Pick<Clock, 'monotonic' | 'deadline'>): PendingCalls<Found> {
  const joinable = new Map<string, PendingCall<Found>>();
  /** Calls in flight, by window. */
  const sent = new Map<string, PendingCall<Found>>();
  const underWay = new Set<PendingCall<Found>>();
  const told = new Set<PendingCall<Found>>();

  function forget(call: PendingCall<Found>): void {
    const id = idOf(call.key);
    if (joinable.get(id) === call) joinable.delete(id);
    if (sent.get(id) === call) sent.delete(id);
  }

  return {
    joinable: (key) => joinable.get(idOf(key)),
    begin: (key, sale) => {
      const fresh = newCall<Found>(key, sale);
      const before = turnOf(clock, sent.get(idOf(key)), fresh.stop.signal);
      const call = { ...fresh, turn: before.then(() => allJoined(fresh.waiters)) };
      joinable.set(idOf(key), call);
      underWay.add(call);
      return call;
    },
    sends: (call) => {
      call.sent_at = clock.monotonic();
      const id = idOf(call.key);
      if (joinable.get(id) === call) joinable.delete(id);
      sent.set(id, call);
    },
    abandon: (call) => {
      forget(call);
      call.stop.abort(new Error('nobody waits for this read any more'));
    },
    tell: (call, one) => {
      forget(call);
      told.add(call);
      for (const waiter of [...call.waiters]) one(waiter);
      call.told.resolve();
    },
    isTold: (call) => told.has(call),
    end: (call) => {
      told.delete(call);
      underWay.delete(call);
      call.over.resolve();
    },
    all: () => [...underWay],
    stored: async () => {
      await Promise.all([...told].map(({ over }) => over.promise));
    },
  };
}

function newCall<Found>(key: RecordKey, sale: SaleState): Omit<PendingCall<Found>, 'turn'> {
  const [over, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  return {
    key,
    sale,
    stop: new AbortController(),
    over,
    told,
    waiters: new Set(),
    timer: null,
    sent_at: null,
    shown: new Map(),
    found: new Map(),
  };
}

/** Resolves when the call in flight for the same window was answered, or has taken long enough. */
async function turnOf<Found>(
  clock: Pick<Clock, 'monotonic' | 'deadline'>,
  before: PendingCall<Found> | undefined,
  stop: AbortSignal,
): Promise<void> {
  if (before?.sent_at == null) return;
  const left = before.sent_at + turnMs - clock.monotonic();
  if (left <= 0) return;
  using over = clock.deadline(left, stop);
  const { promise, resolve } = Promise.withResolvers<void>();
  over.signal.addEventListener('abort', () => resolve(), { once: true });
  await Promise.race([before.told.promise, promise]);
}

/** Resolves when a turn of the event loop brought nobody else who waits: those of the current one have joined before. */
async function allJoined(waiters: ReadonlySet<CallWaiter>): Promise<void> {
  await setImmediate();
  let [joined, turns] = [0, 0];
  do {
    joined = waiters.size;
    turns += 1;
    await setImmediate();
  } while (waiters.size > joined && turns < joiningTurns);
}

function idOf({ product_id, edition, part }: RecordKey): string {
  return `${product_id} ${edition} ${part}`;
}
