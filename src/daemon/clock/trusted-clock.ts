import { type Clock, type Instant, instant } from '../../kernel/clock.ts';
import { agreeMs, isImplausible, judgeJump, judgeStart, quietMs } from '../../schedule/clock-doubt.rules.ts';

/** The instant of the boot, from which the time since boot counts. Later processes of the same boot reuse it. */
export interface Anchor {
  /** Identifies the boot; null: boots cannot be distinguished here. */
  readonly boot_id: string | null;
  /** The believed instant of the boot, epoch milliseconds. */
  readonly booted_at: Instant;
  /** 1: the service has agreed with it. */
  readonly confirmed: 0 | 1;
  /** Last instant at which the clock was in doubt; null: never. */
  readonly doubted_at: Instant | null;
}

/** The reason why the wall clock is not believed. */
export type Doubt =
  /** The wall clock shows a time that cannot follow the instants in the files, or that contradicts the service. */
  | 'implausible-start'
  /** The wall clock has jumped, and the service has not answered since. */
  | 'jumped'
  /** The wall clock has jumped, and the service agrees with the time since boot. */
  | 'wrong';

export interface ClockState {
  /** Null: the wall clock is believed. */
  readonly doubt: Doubt | null;
  /** Milliseconds by which the wall clock is ahead of the believed time. */
  readonly ahead_ms: number;
  /** False until the service was asked for the time: no scheduled work begins. */
  readonly ready: boolean;
  /** True: the service should be asked. */
  readonly asks: boolean;
  /** True: the last doubt is long enough ago for irreversible work: pruning, sweeping, rotating. */
  readonly mayPrune: boolean;
  /** Number of ended doubts and of changes of the believed time. */
  readonly changes: number;
}

/** A wall clock that does not jump. `now` is the machine's time while that is believed, else counted from the boot. */
export interface TrustedClock extends Clock {
  /** Called with the time in each answer of the service, epoch milliseconds; null: an answer without a `Date`. */
  heard(date: number | null): void;
  look(): ClockState;
  anchor(): Anchor;
}

/** Below this difference, in milliseconds, two clocks have run together since the last comparison. */
const togetherMs = 1000;

/** Milliseconds after which, if the service sends no `Date`, a wall clock that has not jumped again is believed. */
const patienceMs = 3_600_000;

interface Doubted {
  kind: 'start' | 'jump';
  /**
   * Epoch milliseconds of the boot by the wall clock at the beginning of the doubt, and the time since boot at that
   * moment.
   */
  readonly wall: number;
  readonly since: number;
  /** The boot instants according to the service's last two answers. */
  readonly heard: number[];
  decided: boolean;
}

/**
 * Creates the clock. `stored`: the anchor of an earlier process, or null. `last`: the latest instant in the files, or
 * null.
 */
export function trustedClock(machine: Clock, stored: Anchor | null, last: number | null): TrustedClock {
  const belief = new Belief(machine, stored, last);
  return {
    ...machine,
    now: () => belief.now(),
    heard: (date) => {
      belief.heard(date);
    },
    look: () => belief.look(),
    anchor: () => belief.anchor(),
  };
}

/** The believed time, judged by the wall clock, the time since boot and the times in the service's answers. */
class Belief {
  readonly #machine: Clock;
  readonly #last: number | null;
  readonly #boot_id: string | null;
  #booted_at: number;
  /** The service has agreed with the instant of the boot. */
  #confirmed: boolean;
  #doubt: Doubted | null = null;
  #doubted_at: Instant | null;
  #ready = true;
  #changes = 0;
  /** Both clocks at the last comparison. */
  #seen = { wall: Number.NaN, monotonic: 0 };

  constructor(machine: Clock, stored: Anchor | null, last: number | null) {
    this.#machine = machine;
    this.#last = last;
    this.#boot_id = machine.bootId();
    const same = stored !== null && this.#boot_id !== null && stored.boot_id === this.#boot_id;
    this.#booted_at = same ? stored.booted_at : machine.now() - machine.boot();
    this.#confirmed = same && stored.confirmed === 1;
    this.#doubted_at = stored?.doubted_at ?? null;
    if (!same && isImplausible(machine.now(), last)) {
      this.#doubt = this.#begin('start');
      this.#ready = false;
    }
  }

  now(): Instant {
    const wall = this.#machine.now();
    const monotonic = this.#machine.monotonic();
    const together = Math.abs(wall - this.#seen.wall - (monotonic - this.#seen.monotonic)) < togetherMs;
    if (this.#doubt !== null || !together) this.#compare();
    this.#seen = { wall, monotonic };
    return this.#doubt?.kind === 'jump' ? this.#believed() : wall;
  }

  heard(date: number | null): void {
    this.#compare();
    if (date === null) {
      if (this.#doubt !== null) this.#doWithout(this.#doubt);
      return;
    }
    const at_boot = date - this.#machine.boot();
    if (this.#doubt === null && Math.abs(at_boot - this.#booted_at) <= agreeMs) this.#confirmed = true;
    // The wall clock and the time since boot agree. A service with a third time is reported and not believed.
    if (this.#doubt === null && this.#confirmed) return;
    const doubt = this.#doubt ?? this.#begin('start');
    this.#doubt = doubt;
    doubt.heard.push(at_boot);
    if (doubt.heard.length > 2) doubt.heard.shift();
    this.#decide(doubt);
  }

  look(): ClockState {
    this.#compare();
    const time = this.now();
    const doubt = this.#doubt;
    if (doubt !== null) this.#doubted_at = time;
    const since = this.#doubted_at === null ? Number.POSITIVE_INFINITY : Math.abs(time - this.#doubted_at);
    const why = doubt?.kind === 'start' ? 'implausible-start' : doubt?.decided ? 'wrong' : 'jumped';
    return {
      doubt: doubt === null ? null : why,
      ahead_ms: Math.round(this.#machine.now() - time),
      ready: this.#ready,
      asks: doubt !== null && !doubt.decided,
      mayPrune: this.#ready && doubt === null && since >= quietMs,
      changes: this.#changes,
    };
  }

  anchor(): Anchor {
    return {
      boot_id: this.#boot_id,
      booted_at: instant(this.#booted_at),
      confirmed: this.#confirmed ? 1 : 0,
      doubted_at: this.#doubted_at,
    };
  }

  #believed(): Instant {
    return instant(this.#machine.boot() + this.#booted_at);
  }

  #begin(kind: Doubted['kind']): Doubted {
    const since = this.#machine.boot();
    return { kind, wall: this.#machine.now() - since, since, heard: [], decided: false };
  }

  #end(): void {
    this.#doubted_at = this.#believed();
    this.#doubt = null;
    this.#ready = true;
    this.#changes += 1;
  }

  #move(to: number): void {
    this.#booted_at = to;
    this.#changes += 1;
    this.#ready = true;
  }

  /** Compares the wall clock with the time since boot. */
  #compare(): void {
    const wall = this.#machine.now() - this.#machine.boot();
    const doubt = this.#doubt;
    if (Math.abs(wall - this.#booted_at) <= agreeMs) {
      this.#booted_at = wall;
      if (doubt?.kind !== 'jump') return;
      if (this.#ready) this.#end();
      else this.#doubt = this.#begin('start');
      return;
    }
    // Another jump: answers about the previous one do not count.
    if (doubt === null || doubt.kind === 'start' || Math.abs(wall - doubt.wall) > agreeMs)
      this.#doubt = this.#begin('jump');
  }

  #decide(word: Doubted): void {
    const [before, service] = word.heard;
    // A single `Date` may come from any proxy or cache.
    if (before === undefined || service === undefined || Math.abs(service - before) > agreeMs) return;
    const boot = this.#machine.boot();
    const wall = this.#machine.now() - boot;
    if (word.kind === 'start') {
      const { believe } = judgeStart({ wall: wall + boot, service: service + boot, last: this.#last });
      this.#confirmed = true;
      if (believe === 'wall') {
        this.#end();
        return;
      }
      this.#move(service);
      this.#doubt = { ...this.#begin('jump'), decided: true };
      return;
    }
    const { believe } = judgeJump({ wall, boot: this.#booted_at, service });
    if (believe === 'nobody' && this.#confirmed) return;
    if (believe === 'wall') {
      this.#move(wall);
      this.#end();
    } else if (believe === 'nobody') this.#move(service);
    this.#confirmed = true;
    this.#ready = true;
    word.decided = true;
  }

  /** Decides without the service if it sends no `Date`. */
  #doWithout(word: Doubted): void {
    if (word.heard.length > 0) return;
    if (word.kind === 'start') this.#end();
    else if (this.#machine.boot() - word.since >= patienceMs) {
      this.#move(word.wall);
      this.#end();
    }
  }
}
