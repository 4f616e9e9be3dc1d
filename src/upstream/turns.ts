import type { Clock } from '../clock.ts';
import { type Budget, pauseLeft } from '../domain/budget/budget.ts';
import { doubtOf, mayTry } from '../domain/budget/rests.ts';
import { dueAfter, triggeredDueAfter, triggeredTurnIn, turnIn } from '../domain/schedule/call-spacing.ts';
import {
  afterTurn,
  type Lane,
  type LaneEntry,
  type LaneShares,
  lanes,
  nextLane,
  noCredit,
  withFloors,
} from '../domain/schedule/lanes.ts';
import { type CallDemand, type CallSubject, laneWaiters } from './lane-waiters.ts';

export interface TurnsOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  /** Calls at a time; checks may take one more. */
  readonly concurrency: number;
  readonly lanes: LaneShares;
  /** Returns the budget as learned so far. */
  readonly budget: () => Budget;
  /** Returns the time of a clock that never jumps, by which the budget's pauses are measured. */
  readonly steady: () => number;
  /** Returns whether this process may call the service; called right before each call. */
  readonly mayCall: () => boolean;
  /** Called when a call begins that finds out whether a pause holds all calls; a pause follows at once. */
  readonly tries: () => void;
}

/** Milliseconds after which a process that may not call asks whether it may again. */
const askAgainMs = 100;

/** Scheduler of calls, by the order and shares of the lanes, at the rate of the budget, and never during a pause. */
export interface Turns {
  /** Waits for a turn, which lasts until `ended`. Rejects with the reason of an aborted signal. */
  take(entry: LaneEntry, signal: AbortSignal, about: CallSubject): Promise<CallDemand>;
  ended(): void;
  /** Ends the waiting of calls about a subject that rests, each with a turn that is not used. */
  dismiss(subject: CallSubject['subject']): void;
  /** The call that ends now was throttled. */
  throttled(): void;
  /** A pause has ended before its time: who waits for its end may start with the end of the call under way. */
  pauseEnded(): void;
  /** A call of whom it was the turn is sent only now, so many milliseconds later: with others, perhaps, whose turn it was meanwhile. */
  late(ms: number): void;
  /** No turn begins earlier than in so many milliseconds. */
  notBefore(ms: number): void;
  inFlight(): number;
  allWaiting(): number;
  byLane(): Readonly<Record<Lane, { readonly calls: number; readonly waiting: number }>>;
  /** Rejects all who wait. */
  close(reason: Error): void;
}

export function createTurns(options: TurnsOptions): Turns {
  const { clock, concurrency, lanes: shared, budget, steady, mayCall } = options;
  const shares = withFloors(shared);
  const waiters = laneWaiters();
  const waking = timers(clock, startAll);
  const started = byLane(() => 0);
  let credit = noCredit();
  let [due, triggeredDue] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let in_flight = 0;

  /** Calls that were under way when a call was throttled last. */
  let older = 0;

  /** One call at a time probes while nothing gets through, and after a throttle until a call is answered. */
  function allowedOthers(): number {
    if (budget().unreachable_since !== null) return 1;
    return budget().throttles === 0 ? concurrency : Math.min(older + 1, concurrency);
  }

  /** A check does not wait for the end of a slow call in another lane, as long as checks are no flood. */
  function allowed(): number {
    const more = budget().unreachable_since === null && waiters.waiting('checkout') > 0 && credit.checkout >= 1;
    return more ? connectionsFor(concurrency) : allowedOthers();
  }

  /**
   * Returns the most urgent lane that may start a call, or in how many milliseconds one may that notifications ask for.
   */
  function next(now: number): { readonly lane: Lane } | { readonly triggered_in: number } {
    const triggered = waiters.waiting('triggered') > 0;
    const triggered_in = triggered ? triggeredTurnIn(budget(), triggeredDue, now) : 0;
    const mayTrigger = triggered && triggered_in === 0;
    if (in_flight >= allowedOthers()) return { lane: 'checkout' };
    const lane = nextLane(credit, (each) => waiters.waiting(each) > 0 || (each === 'notification' && mayTrigger));
    return lane === null ? { triggered_in } : { lane };
  }

  /** Starts every waiter that may start now. If the first may not, one timer wakes it. */
  function startAll(): void {
    while (!waking.isSet('turn') && in_flight < allowed()) {
      const now = clock.monotonic();
      const found = next(now);
      if ('triggered_in' in found) {
        if (found.triggered_in > 0) waking.set('triggered', found.triggered_in);
        return;
      }
      const held = mayCall() ? 0 : askAgainMs;
      const wait = Math.max(turnIn(budget(), concurrency, due, now), pauseLeft(budget(), steady()), held);
      if (wait > 0) waking.set('turn', wait);
      else if (doubtOf(budget(), steady()) === null) start(found.lane, now);
      else if (!startTry(now)) return;
    }
  }

  function start(lane: Lane, now: number): void {
    const entry = waiters.waiting(lane) > 0 ? lane : 'triggered';
    began(entry, lane, now);
    waiters.start(entry);
  }

  /** Starts the one call that tries whether everybody has to wait. Where none may, others look again after a while. */
  function startTry(now: number): boolean {
    const doubt = doubtOf(budget(), steady());
    const entry = waiters.startFirst(({ path }) => doubt !== null && mayTry(budget(), doubt, path, steady()));
    if (entry === null) {
      waking.set('try', askAgainMs);
      return false;
    }
    began(entry, entry === 'triggered' ? 'notification' : entry, now);
    options.tries();
    return true;
  }

  function began(entry: LaneEntry, lane: Lane, now: number): void {
    due = dueAfter(budget(), due, now);
    if (entry === 'triggered') triggeredDue = triggeredDueAfter(budget(), triggeredDue, now);
    in_flight += 1;
    credit = afterTurn(credit, shares, lane, budget().rate);
    started[lane] += 1;
  }

  return {
    take: (entry, signal, about) => {
      const turn = waiters.add(entry, signal, about, () => {
        if (waiters.allWaiting() === 0) waking.stop();
      });
      startAll();
      turn.waits();
      return turn.demand;
    },
    ended: () => {
      in_flight -= 1;
      startAll();
    },
    dismiss: (subject) => {
      while (waiters.startFirst((about) => about.subject === subject) !== null) in_flight += 1;
    },
    throttled: () => {
      older = in_flight - 1;
    },
    pauseEnded: waking.stop,
    late: (ms) => {
      due += Math.min(ms, 1000 / budget().rate);
    },
    notBefore: (ms) => {
      due = Math.max(due, clock.monotonic() + ms);
    },
    inFlight: () => in_flight,
    allWaiting: waiters.allWaiting,
    byLane: () =>
      byLane((lane) => ({
        calls: started[lane],
        waiting: waiters.waiting(lane) + (lane === 'notification' ? waiters.waiting('triggered') : 0),
      })),
    close: (reason) => {
      waking.stop();
      waiters.rejectAll(reason);
    },
  };
}

/** Connections that so many calls at a time need: one more, which checks alone may take when all others are busy. */
export function connectionsFor(concurrency: number): number {
  return concurrency + 1;
}

function byLane<Value>(of: (lane: Lane) => Value): Record<Lane, Value> {
  return Object.fromEntries(lanes.map((lane) => [lane, of(lane)])) as Record<Lane, Value>;
}

type TimerName = 'turn' | 'triggered' | 'try';

/** At most one timer of each name; what is set already stays. */
function timers(clock: Pick<Clock, 'sleep'>, wake: () => void) {
  const set = new Map<TimerName, AbortController>();
  return {
    isSet: (name: TimerName) => set.has(name),
    set: (name: TimerName, ms: number): void => {
      if (set.has(name)) return;
      const own = new AbortController();
      set.set(name, own);
      const woken = () => {
        if (own.signal.aborted) return;
        set.delete(name);
        wake();
      };
      clock.sleep(Math.ceil(ms), own.signal).then(woken, () => undefined);
    },
    stop: (): void => {
      const own = [...set.values()];
      set.clear();
      for (const each of own) each.abort();
    },
  };
}
