import { type Clock, type Instant, instant } from '../../clock.ts';
import { agreeMs, isImplausible, judgeJump, judgeStart, quietMs } from '../../domain/schedule/clock-doubt.ts';

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
  const boot_id = machine.bootId();
  const same = stored !== null && boot_id !== null && stored.boot_id === boot_id;
  let booted_at: number = same ? stored.booted_at : machine.now() - machine.boot();
  let confirmed = same && stored.confirmed === 1;
  let seen = { wall: Number.NaN, monotonic: 0 };
  let changes = 0;
  let doubt: Doubted | null = null;
  let ready = true;
  let doubted = stored?.doubted_at ?? null;
  if (!same && isImplausible(machine.now(), last)) {
    doubt = begin('start');
    ready = false;
  }

  function begin(kind: Doubted['kind']): Doubted {
    const since = machine.boot();
    return { kind, wall: machine.now() - since, since, heard: [], decided: false };
  }

  function end(): void {
    doubted = believed();
    doubt = null;
    ready = true;
    changes += 1;
  }

  function move(to: number): void {
    booted_at = to;
    changes += 1;
    ready = true;
  }

  const believed = () => instant(machine.boot() + booted_at);

  /** Compares the wall clock with the time since boot. */
  function compare(): void {
    const boot = machine.boot();
    const wall = machine.now() - boot;
    if (Math.abs(wall - booted_at) <= agreeMs) {
      booted_at = wall;
      if (doubt?.kind !== 'jump') return;
      if (ready) end();
      else doubt = begin('start');
      return;
    }
    // Another jump: answers about the previous one do not count.
    if (doubt === null || doubt.kind === 'start' || Math.abs(wall - doubt.wall) > agreeMs) doubt = begin('jump');
  }

  function decide(word: Doubted): void {
    const [before, service] = word.heard;
    // A single `Date` may come from any proxy or cache.
    if (before === undefined || service === undefined || Math.abs(service - before) > agreeMs) return;
    const boot = machine.boot();
    const wall = machine.now() - boot;
    if (word.kind === 'start') {
      const { believe } = judgeStart({ wall: wall + boot, service: service + boot, last });
      confirmed = true;
      if (believe === 'wall') {
        end();
        return;
      }
      move(service);
      doubt = { ...begin('jump'), decided: true };
      return;
    }
    const { believe } = judgeJump({ wall, boot: booted_at, service });
    if (believe === 'nobody' && confirmed) return;
    if (believe === 'wall') {
      move(wall);
      end();
    } else if (believe === 'nobody') {
      move(service);
    }
    confirmed = true;
    ready = true;
    word.decided = true;
  }

  /** Decides without the service if it sends no `Date`. */
  function doWithout(word: Doubted): void {
    if (word.heard.length > 0) return;
    if (word.kind === 'start') end();
    else if (machine.boot() - word.since >= patienceMs) {
      move(word.wall);
      end();
    }
  }

  function now(): Instant {
    const wall = machine.now();
    const monotonic = machine.monotonic();
    const together = Math.abs(wall - seen.wall - (monotonic - seen.monotonic)) < togetherMs;
    if (doubt === null && together) {
      seen = { wall, monotonic };
      return wall;
    }
    compare();
    seen = { wall, monotonic };
    return isJump(doubt) ? believed() : wall;
  }

  function heard(date: number | null): void {
    compare();
    if (date === null) {
      if (doubt !== null) doWithout(doubt);
      return;
    }
    const at_boot = date - machine.boot();
    if (doubt === null) {
      if (Math.abs(at_boot - booted_at) <= agreeMs) confirmed = true;
      // The wall clock and the time since boot agree. A service with a third time is reported and not believed.
      if (confirmed) return;
      doubt = begin('start');
    }
    doubt.heard.push(at_boot);
    if (doubt.heard.length > 2) doubt.heard.shift();
    decide(doubt);
  }

  return {
    ...machine,
    now,
    heard,
    look: () => {
      compare();
      const time = now();
      if (doubt !== null) doubted = time;
      const since = doubted === null ? Number.POSITIVE_INFINITY : Math.abs(time - doubted);
      return {
        doubt:
          doubt === null ? null : doubt.kind === 'start' ? 'implausible-start' : doubt.decided ? 'wrong' : 'jumped',
        ahead_ms: Math.round(machine.now() - time),
        ready,
        asks: doubt !== null && !doubt.decided,
        mayPrune: ready && doubt === null && since >= quietMs,
        changes,
      };
    },
    anchor: () => ({ boot_id, booted_at: instant(booted_at), confirmed: confirmed ? 1 : 0, doubted_at: doubted }),
  };
}

/** Hides the type from TypeScript, which does not see assignments inside calls. */
function isJump(doubt: Doubted | null): boolean {
  return doubt?.kind === 'jump';
}
