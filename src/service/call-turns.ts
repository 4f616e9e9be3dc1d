import type { Clock } from '../kernel/clock.ts';
import { dueAfter, triggeredDueAfter, triggeredTurnIn, turnIn } from '../schedule/call-spacing.rules.ts';
import {
  afterTurn,
  type Lane,
  type LaneEntry,
  type LaneShares,
  laneEntries,
  lanes,
  nextLane,
  noCredit,
  withFloors,
} from '../schedule/lanes.rules.ts';
import { type Budget, pauseLeft } from './budget.rules.ts';
import type { OutcomeSubject } from './outcome-history.ts';
import type { afterAnswer } from './outcomes.rules.ts';
import { doubtOf, mayCheckTry, mayTry } from './rests.rules.ts';

export interface TurnsOptions {
  readonly clock: Clock;
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
  readonly tries: (by: 'check' | 'any') => void;
}

/** Milliseconds after which a process that may not call asks whether it may again. */
const askAgainMs = 100;

/** Scheduler of calls, by the order and shares of the lanes, at the rate of the budget, and never during a pause. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #shares: ReturnType<typeof withFloors>;
  readonly #waiters = laneWaiters();
  readonly #waking: ReturnType<typeof timers>;
  readonly #started = byLane(() => 0);
  #credit = noCredit();
  /** Monotonic instants of the next turn, and of the next that notifications ask for. */
  #due = Number.NEGATIVE_INFINITY;
  #triggeredDue = Number.NEGATIVE_INFINITY;
  #in_flight = 0;
  /** Calls that were under way when a call was throttled last. */
  #older = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#shares = withFloors(options.lanes);
    this.#waking = timers(options.clock, () => this.#startAll());
  }

  /** Waits for a turn, which lasts until `ended`. Rejects with the reason of an aborted signal. */
  take(entry: LaneEntry, signal: AbortSignal, about: CallSubject): Promise<CallDemand> {
    const turn = this.#waiters.add(entry, signal, about, () => {
      if (this.#waiters.allWaiting() === 0) this.#waking.stop();
    });
    this.#startAll();
    turn.waits();
    return turn.demand;
  }

  ended(): void {
    this.#in_flight -= 1;
    this.#startAll();
  }

  /** Ends the waiting of calls about a subject that rests, each with a turn that is not used. */
  dismiss(subject: CallSubject['subject']): void {
    while (this.#waiters.startFirst((about) => about.subject === subject) !== null) this.#in_flight += 1;
  }

  /** The call that ends now was throttled. */
  throttled(): void {
    this.#older = this.#in_flight - 1;
  }

  /** A pause has ended before its time: who waits for its end may start with the end of the call under way. */
  pauseEnded(): void {
    this.#waking.stop();
  }

  /** A call of whom it was the turn is sent only now, so many milliseconds later: with others, perhaps, whose turn it was meanwhile. */
  late(ms: number): void {
    this.#due += Math.min(ms, 1000 / this.#options.budget().rate);
  }

  /** No turn begins earlier than in so many milliseconds. */
  notBefore(ms: number): void {
    this.#due = Math.max(this.#due, this.#options.clock.monotonic() + ms);
  }

  inFlight(): number {
    return this.#in_flight;
  }

  allWaiting(): number {
    return this.#waiters.allWaiting();
  }

  byLane(): Readonly<Record<Lane, { readonly calls: number; readonly waiting: number }>> {
    return byLane((lane) => ({
      calls: this.#started[lane],
      waiting: this.#waiters.waiting(lane) + (lane === 'notification' ? this.#waiters.waiting('triggered') : 0),
    }));
  }

  /** Rejects all who wait. */
  close(reason: Error): void {
    this.#waking.stop();
    this.#waiters.rejectAll(reason);
  }

  /** One call at a time probes while nothing gets through, and after a throttle until a call is answered. */
  #allowedOthers(): number {
    const { concurrency } = this.#options;
    const { unreachable_since, throttles } = this.#options.budget();
    if (unreachable_since !== null) return 1;
    return throttles === 0 ? concurrency : Math.min(this.#older + 1, concurrency);
  }

  /** A check does not wait for the end of a slow call in another lane, as long as checks are no flood. */
  #allowed(): number {
    const { concurrency, budget } = this.#options;
    const checkWaits = this.#waiters.waiting('checkout') > 0 && this.#credit.checkout >= 1;
    return budget().unreachable_since === null && checkWaits ? connectionsFor(concurrency) : this.#allowedOthers();
  }

  /**
   * Returns the most urgent lane that may start a call, or in how many milliseconds one may that notifications ask for.
   */
  #next(now: number): { readonly lane: Lane } | { readonly triggered_in: number } {
    const triggered = this.#waiters.waiting('triggered') > 0;
    const triggered_in = triggered ? triggeredTurnIn(this.#options.budget(), this.#triggeredDue, now) : 0;
    const mayTrigger = triggered && triggered_in === 0;
    if (this.#in_flight >= this.#allowedOthers()) return { lane: 'checkout' };
    const may = (each: Lane) => this.#waiters.waiting(each) > 0 || (each === 'notification' && mayTrigger);
    const lane = nextLane(this.#credit, may);
    return lane === null ? { triggered_in } : { lane };
  }

  /** Starts every waiter that may start now. If the first may not, one timer wakes it. */
  #startAll(): void {
    this.#startCheckTry();
    const { clock, concurrency, budget, steady, mayCall } = this.#options;
    while (!this.#waking.isSet('turn') && this.#in_flight < this.#allowed()) {
      const now = clock.monotonic();
      const found = this.#next(now);
      if ('triggered_in' in found) {
        if (found.triggered_in > 0) this.#waking.set('triggered', found.triggered_in);
        return;
      }
      const held = mayCall() ? 0 : askAgainMs;
      const wait = Math.max(turnIn(budget(), concurrency, this.#due, now), pauseLeft(budget(), steady()), held);
      if (wait > 0) this.#waking.set('turn', wait);
      else if (doubtOf(budget(), steady()) === null) this.#start(found.lane, now);
      else if (!this.#startTry(now)) return;
    }
  }

  #start(lane: Lane, now: number): void {
    const entry = this.#waiters.waiting(lane) > 0 ? lane : 'triggered';
    this.#began(entry, lane, now);
    this.#waiters.start(entry);
  }

  /** Starts the one call that tries whether everybody has to wait. Where none may, others look again after a while. */
  #startTry(now: number): boolean {
    const { budget, steady, tries } = this.#options;
    const doubt = doubtOf(budget(), steady());
    const entry = this.#waiters.startFirst(({ path }) => doubt !== null && mayTry(budget(), doubt, path, steady()));
    if (entry === null) {
      this.#waking.set('try', askAgainMs);
      return false;
    }
    this.#began(entry, entry === 'triggered' ? 'notification' : entry, now);
    tries('any');
    return true;
  }

  /** Starts a live check in a pause that it may test. */
  #startCheckTry(): void {
    const { clock, budget, steady, mayCall, tries } = this.#options;
    if (this.#waiters.waiting('checkout') === 0 || pauseLeft(budget(), steady()) === 0) return;
    if (!mayCheckTry(budget(), steady()) || !mayCall()) return;
    this.#start('checkout', clock.monotonic());
    tries('check');
  }

  #began(entry: LaneEntry, lane: Lane, now: number): void {
    const budget = this.#options.budget();
    this.#due = dueAfter(budget, this.#due, now);
    if (entry === 'triggered') this.#triggeredDue = triggeredDueAfter(budget, this.#triggeredDue, now);
    this.#in_flight += 1;
    this.#credit = afterTurn(this.#credit, this.#shares, lane, budget.rate);
    this.#started[lane] += 1;
  }
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
function timers(clock: Clock, wake: () => void) {
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

/** Demand of a call: whether it had to wait for its turn. */
export type CallDemand = Parameters<typeof afterAnswer>[1];

/** Subject of a call. */
export interface CallSubject {
  /** A product by its id, or a list or another resource by its path; null: nothing that can be throttled by itself. */
  readonly subject: OutcomeSubject;
  /** That of the service profile, without a product's id. */
  readonly path: string | null;
}

/** One call that waits for its turn. */
interface Turn {
  /** Resolves when it may start. Rejects with the reason of its signal, and where all are sent away. */
  readonly demand: Promise<CallDemand>;
  /** Called where it could not start at once: from then on it had to wait, and its signal ends that. */
  waits(): void;
}

/** Calls that wait for their turn, first come first served within an entry of a lane. */
interface LaneWaiters {
  /** `left`: called when its signal has ended its waiting. */
  add(entry: LaneEntry, signal: AbortSignal, about: CallSubject, left: () => void): Turn;
  waiting(entry: LaneEntry): number;
  allWaiting(): number;
  /** Starts the first of an entry. */
  start(entry: LaneEntry): void;
  /** Starts the first call, of the most urgent lane, that may; returns where it waited, or null where there is none. */
  startFirst(may: (about: CallSubject) => boolean): LaneEntry | null;
  rejectAll(reason: unknown): void;
}

interface Waiter {
  readonly about: CallSubject;
  start(): void;
  reject(reason: unknown): void;
}

function laneWaiters(): LaneWaiters {
  const waiters = Object.fromEntries(laneEntries.map((entry) => [entry, []])) as unknown as Record<LaneEntry, Waiter[]>;
  return {
    add: (entry, signal, about, left) => addTo(waiters[entry], signal, about, left),
    waiting: (entry) => waiters[entry].length,
    allWaiting: () => laneEntries.reduce((sum, entry) => sum + waiters[entry].length, 0),
    start: (entry) => waiters[entry].shift()?.start(),
    startFirst: (may) => {
      for (const entry of laneEntries) {
        const index = waiters[entry].findIndex(({ about }) => may(about));
        if (index === -1) continue;
        for (const waiter of waiters[entry].splice(index, 1)) waiter.start();
        return entry;
      }
      return null;
    },
    rejectAll: (reason) => {
      for (const entry of laneEntries) for (const waiter of waiters[entry].splice(0)) waiter.reject(reason);
    },
  };
}

/** Adds a waiter. Events, not a clock, decide whether the call had to wait: a fine clock would see every call wait. */
function addTo(others: Waiter[], signal: AbortSignal, about: CallSubject, left: () => void): Turn {
  const { promise, resolve, reject } = Promise.withResolvers<CallDemand>();
  let stays = true;
  let demand: CallDemand = 'none';
  const abort = () => {
    others.splice(others.indexOf(waiter), 1);
    left();
    reject(signal.reason);
  };
  const leave = () => {
    stays = false;
    signal.removeEventListener('abort', abort);
  };
  const waiter: Waiter = {
    about,
    start: () => {
      leave();
      resolve(demand);
    },
    reject: (reason) => {
      leave();
      reject(reason);
    },
  };
  others.push(waiter);
  return {
    demand: promise,
    waits: () => {
      // Most calls start at once when the rate is high: no listener for them.
      if (!stays) return;
      demand = 'waiting';
      signal.addEventListener('abort', abort, { once: true });
    },
  };
}
