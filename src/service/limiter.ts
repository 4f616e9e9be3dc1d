import { firstCallInMs } from '../copies/postgres/lease.rules.ts';
import { type Chance, type Clock, type Instant, instant } from '../kernel/clock.ts';
import type { AskedPause, Away } from '../says/conditions/facts.rules.ts';
import { burst } from '../schedule/call-spacing.rules.ts';
import type { Lane, LaneEntry, LaneShares } from '../schedule/lanes.rules.ts';
import { type Budget, pauseLeft, resumeBudget, startBudget } from './budget.rules.ts';
import type { CallDemand, CallSubject } from './call-turns.ts';
import { Turns } from './call-turns.ts';
import type { Throttled, WithoutAnswer } from './outcome.ts';
import { OutcomeHistory, type OutcomeSubject } from './outcome-history.ts';
import { afterAnswer, afterMiss, afterThrottle, afterThrottleAlone, isCrowd } from './outcomes.rules.ts';
import {
  afterAnsweredTry,
  afterOwnThrottle,
  afterRest,
  afterThrottledTry,
  checkTryBegins,
  doubted,
  doubtOf,
  mayCheckTry,
  restOf,
  tryBegins,
  wasTry,
} from './rests.rules.ts';

export interface LimiterOptions {
  readonly budget: { readonly requests_per_second: number; readonly concurrency: number; readonly lanes: LaneShares };
  /** State that an earlier process learned; null if there is none. */
  readonly learned: Budget | null;
  /** Called with the learned budget when the rate was cut, a pause began or ended, or something backs off, to persist it. */
  readonly throttled: (learned: Budget) => void;
  readonly clock: Clock;
  readonly chance: Chance;
  /** `account`: every pause holds all calls to its end (service profile). Absent: a call finds out whether it does. */
  readonly retry_after?: 'account' | 'find-out';
  /** Absent: this process is the only one that calls. */
  readonly leadership?: CallLeadership | undefined;
}

/** Leadership among processes that share an account: only the leader calls the service. */
export interface CallLeadership {
  trusted(): boolean;
}

export interface Pause {
  /** No call starts before this instant; 0 where there is no pause. */
  readonly not_before: number;
  /** The service itself asked for this pause, until then; 0 where it did not: any other pause is our own. */
  readonly told_until: number;
  /** The whole pause that the service asked for; null: none. */
  readonly asked: AskedPause | null;
  /** Instant since which the service is away: unreachable, silent, or without a usable answer; null if it is not. */
  readonly unreachable_since: number | null;
  /** Reason why the service is away, according to the last call; null if it is not away. */
  readonly away: Away | null;
}

/** An answer, decoded or not. */
export interface Answered {
  readonly kind: 'answer' | 'read' | 'unchanged';
}

export interface LimiterState extends Pause {
  /** Calls a second: as learned, and as configured. */
  readonly rate: number;
  readonly ceiling: number;
  readonly in_flight: number;
  readonly waiting: number;
  /** Calls started, throttled ones, and how many in a row ended in a burst status. */
  readonly calls: number;
  readonly throttled_count: number;
  readonly refused_in_a_row: number;
  /** Calls started and calls waiting, by lane. */
  readonly lanes: Readonly<Record<Lane, { readonly calls: number; readonly waiting: number }>>;
}

/** A call under way. */
interface Call extends CallSubject {
  readonly sent_at: number;
}

/** The one limiter for every call: rate, concurrency, and what the service asked for. Disposing rejects all who wait. */
export class Limiter implements Disposable {
  readonly #options: LimiterOptions;
  readonly #started: { readonly at: number; readonly monotonic: number };
  readonly #turns: Turns;
  readonly #history = new OutcomeHistory();
  readonly #isAccount: boolean;
  #budget: Budget;
  #away: Away | null = null;
  #calls = 0;
  #throttled_count = 0;
  #closed: Error | null = null;

  constructor(options: LimiterOptions) {
    const { clock, learned, leadership } = options;
    const { requests_per_second, concurrency, lanes } = options.budget;
    this.#options = options;
    this.#started = { at: clock.now(), monotonic: clock.monotonic() };
    this.#budget =
      learned === null
        ? startBudget(requests_per_second, this.#started.at)
        : resumeBudget(learned, requests_per_second);
    this.#isAccount = options.retry_after === 'account';
    // Configured meanwhile: what an earlier process doubted is obeyed.
    if (this.#isAccount && this.#budget.doubt !== null)
      this.#budget = { ...this.#budget, not_before: this.#budget.told_until, doubt: null };
    this.#turns = new Turns({
      clock,
      concurrency,
      lanes,
      budget: () => this.#budget,
      steady: () => this.#steady(),
      mayCall: () => leadership?.trusted() ?? true,
      tries: (by) => this.#tries(by),
    });
    // An earlier process, or an earlier configuration of this one, may have made a call just now.
    if (learned !== null) this.#turns.notBefore(1000 / this.#budget.rate);
    if (leadership !== undefined) this.#turns.notBefore(firstCallInMs);
  }

  /**
   * Waits for its turn (by the lanes' order and shares, within a lane first come first served) and learns from the
   * outcome, of which it matters what it is about: of several subjects that fail in a row none is at fault. Rejects with
   * the reason of an aborted signal, and with what `call` rejects with. Does not call while what it is about rests.
   * `path`: that of the service profile, without a product's id.
   */
  async run<Got extends Answered>(
    call: (signal: AbortSignal) => Promise<Got | WithoutAnswer>,
    signal: AbortSignal,
    entry: LaneEntry,
    about: OutcomeSubject = null,
    path: string | null = null,
  ): Promise<Got | WithoutAnswer> {
    signal.throwIfAborted();
    if (this.#closed !== null) throw this.#closed;
    const subject = about ?? path;
    const rests = this.#resting(subject);
    if (rests !== null) return rests;
    const demand = await this.#turns.take(entry, signal, { subject, path });
    try {
      // Throttled while this call waited.
      const rests = this.#resting(subject);
      if (rests !== null) return rests;
      this.#calls += 1;
      const sent_at = this.#steady();
      return this.#learn(await call(signal), about, demand, { subject, path, sent_at });
    } finally {
      this.#turns.ended();
    }
  }

  /** A call was sent so many milliseconds after its turn: another one waits for so long, or for a whole turn at most. */
  late(ms: number): void {
    this.#turns.late(ms);
  }

  state(): LimiterState {
    return {
      ...this.pause(),
      rate: this.#budget.rate,
      ceiling: this.#budget.ceiling,
      in_flight: this.#turns.inFlight(),
      waiting: this.#turns.allWaiting(),
      calls: this.#calls,
      throttled_count: this.#throttled_count,
      refused_in_a_row: this.#history.refusedInARow(),
      lanes: this.#turns.byLane(),
    };
  }

  pause(): Pause {
    return { ...pauseOf(this.#budget, this.#steady(), this.#options.clock.now()), away: this.#away };
  }

  /** Returns whether the last calls failed, and another one would show whether that is the service's fault or their own. */
  isInDoubt(): boolean {
    return this.#history.isInDoubt() || doubtOf(this.#budget, this.#steady()) !== null;
  }

  /** Returns whether a live check is sent at once although a pause lasts, to test whether all calls have to wait. */
  mayCheckTry(): boolean {
    return mayCheckTry(this.#budget, this.#steady());
  }

  /** Returns what has been learned, to be given to the next process. Instants of the wall clock. */
  learned(): Budget {
    return shifted(this.#budget, this.#options.clock.now() - this.#steady());
  }

  [Symbol.dispose](): void {
    this.#closed ??= new Error('the limiter is closed');
    this.#turns.close(this.#closed);
  }

  /** Returns the wall clock's time at the start of the limiter plus the time since then: a clock that jumps moves no pause. */
  #steady(): number {
    return this.#started.at + this.#options.clock.monotonic() - this.#started.monotonic;
  }

  #tries(by: 'check' | 'any'): void {
    if (doubtOf(this.#budget, this.#steady()) === null) return;
    this.#budget = (by === 'check' ? checkTryBegins : tryBegins)(this.#budget, this.#steady());
    this.#options.throttled(this.learned());
  }

  #throttled({ status, until: wall }: Throttled, { subject, path, sent_at }: Call, now: number): void {
    const { clock, chance } = this.#options;
    this.#throttled_count += 1;
    this.#turns.throttled();
    const before = this.#budget;
    const until = wall === null ? null : now + wall - clock.now();
    // Maintenance is the account's.
    const own = subject !== null && status < 500 ? subject : null;
    const throttled = isCrowd(before) ? 'many' : 'few';
    const rested = own === null ? before : afterOwnThrottle(before, own, { until, throttled }, chance(), now, sent_at);
    const meant = this.#isAccount ? null : (path ?? '');
    const isAlone = restOf(rested, own, now)?.alone === 1 && (until === null || !this.#isAccount);
    // Two answers of maintenance are believed: its pause is kept to the end.
    const goesOn = own === null ? null : meant;
    if (wasTry(before, now, sent_at)) this.#budget = afterThrottledTry(rested, until, goesOn, now);
    else if (isAlone) this.#budget = afterThrottleAlone(rested, now, sent_at);
    else {
      const after = afterThrottle(rested, until, chance(), now, sent_at);
      this.#budget = doubted(rested, after, until === null ? null : meant, now);
    }
    const budget = this.#budget;
    if (own !== null) this.#turns.dismiss(own);
    // Calls missed during the pause are not made up for at its end.
    const { concurrency } = this.#options.budget;
    this.#turns.notBefore(pauseLeft(budget, now) + ((burst(budget, concurrency) - 1) * 1000) / budget.rate);
    const rests = restOf(budget, own, now)?.times ?? 0;
    if (until !== null || rests > 1 || budget.cut_at !== before.cut_at) this.#options.throttled(this.learned());
  }

  /** A pause that a proxy asks for in place of the service is tested like one of the service; the rate learns nothing. */
  #missed(outcome: { readonly kind: string; readonly until?: Instant | null }, { path, sent_at }: Call, now: number) {
    const { clock, chance } = this.#options;
    const before = this.#budget;
    const missed = afterMiss(before, chance(), now);
    const asked = outcome.kind === 'unreachable' ? (outcome.until ?? null) : null;
    this.#budget = missed;
    if (asked === null) return;
    const told_until = now + asked - clock.now();
    if (wasTry(before, now, sent_at)) this.#budget = afterThrottledTry(missed, told_until, null, now);
    else {
      const told = { ...missed, told_until, not_before: Math.max(missed.not_before, told_until) };
      this.#budget = doubted(before, told, this.#isAccount ? null : (path ?? ''), now);
    }
    this.#options.throttled(this.learned());
  }

  #answered(demand: CallDemand, { subject, sent_at }: Call, now: number): void {
    const isTry = wasTry(this.#budget, now, sent_at);
    if (isTry) this.#budget = afterAnsweredTry(this.#budget, now);
    this.#budget = afterAnswer(afterRest(this.#budget, subject, sent_at), demand, now, sent_at);
    if (!isTry) return;
    this.#turns.pauseEnded();
    this.#options.throttled(this.learned());
  }

  #learn<Got extends Answered>(
    came: Got | WithoutAnswer,
    about: OutcomeSubject,
    demand: CallDemand,
    call: Call,
  ): Got | WithoutAnswer {
    const now = this.#steady();
    const { teaches, outcome } = this.#history.judge(came, about, now, call.path);
    if (teaches === 'nothing') return outcome;
    this.#away = teaches === 'there' ? null : teaches;
    if (this.#away !== null) this.#missed(outcome, call, now);
    // A burst of refusals is nobody's own throttle.
    else if (outcome.kind === 'throttled')
      this.#throttled(outcome, came.kind === 'throttled' ? call : { ...call, subject: null }, now);
    // A try that failed shows nothing: the next one comes in its time.
    else if (outcome.kind !== 'failed' || !wasTry(this.#budget, now, call.sent_at)) this.#answered(demand, call, now);
    return outcome.kind === 'throttled' ? { ...this.#resting(call.subject), ...outcome } : outcome;
  }

  /** Returns the outcome of a call that is not made because its subject rests; null: it may be made. */
  #resting(subject: OutcomeSubject): Throttled | null {
    const now = this.#steady();
    const rest = restOf(this.#budget, subject, now);
    if (rest === null) return null;
    const until = instant(Math.ceil(rest.until + this.#options.clock.now() - now));
    return { kind: 'throttled', status: 429, until: null, rests: { until, alone: rest.alone === 1 } };
  }
}

/**
 * Returns the pause that is left, in whole milliseconds: the limiter's own clock, which `now` and the budget's instants
 * go by, counts fractions. `wall` is the wall clock's time.
 */
function pauseOf(budget: Budget, now: number, wall: number) {
  const at = (steady: number) => Math.round(steady + (wall - now));
  const left = pauseLeft(budget, now);
  const { unreachable_since, told_until } = budget;
  const asked = Math.max(0, told_until - now);
  const told = Math.min(left, asked);
  const next_try_at = doubtOf(budget, now) === null ? null : at(now + left);
  return {
    not_before: left === 0 ? 0 : at(now + left),
    told_until: told === 0 ? 0 : at(now + told),
    asked: asked === 0 ? null : { until: at(told_until), next_try_at },
    unreachable_since: unreachable_since === null ? null : at(unreachable_since),
  };
}

/** Returns the same budget on a clock that shows `ms` more, its instants in whole milliseconds. */
function shifted(budget: Budget, ms: number): Budget {
  const { not_before, told_until, doubt, resting, pressed_at, cut_at, heard_at, answered_at, unreachable_since } =
    budget;
  const moved = (instant: number) => (instant === 0 ? 0 : Math.round(instant + ms));
  return {
    ...budget,
    not_before: moved(not_before),
    told_until: moved(told_until),
    doubt: doubt === null ? null : { ...doubt, tried_at: moved(doubt.tried_at) },
    resting: resting.map((each) => ({ ...each, since: moved(each.since), until: moved(each.until) })),
    answered_at: moved(answered_at),
    pressed_at: moved(pressed_at),
    cut_at: moved(cut_at),
    heard_at: Math.round(heard_at + ms),
    unreachable_since: unreachable_since === null ? null : Math.round(unreachable_since + ms),
  };
}
