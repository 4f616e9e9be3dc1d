import { futureToleranceMs } from './record.rules.ts';

/*
 * Decides which clock is right. There are three: the machine's wall clock, which may jump; the time since boot, which
 * counts through a suspend and never jumps, added to the last trusted instant; and the service's `Date`. Two of three
 * decide.
 */

/** Largest difference of two clocks that agree: a `Date` has whole seconds, and some answers take seconds to arrive. */
export const agreeMs = 60_000;

/** Returns whether our clock and the service's do not agree. Null: the service sends no time. */
export function isClockOff(offset: number | null): offset is number {
  return offset !== null && Math.abs(offset) > agreeMs;
}

/** Time after the end of a doubt in which nothing is pruned, swept or rotated. */
export const quietMs = 3_600_000;

/** Longest plausible downtime of a daemon. After more, the wall clock is doubted at the start. */
const longestDowntimeMs = 30 * 86_400_000;

/** If nothing else decides, the service's clock overrules our wall clock only if they are at least a day apart. */
const farApartMs = 86_400_000;

const agree = (one: number, other: number) => Math.abs(one - other) <= agreeMs;

/** Decides after a jump, from the current time of each clock. */
export function judgeJump({
  wall,
  boot,
  service,
}: Record<'wall' | 'boot' | 'service', number>):
  | { readonly believe: 'boot'; readonly reason: 'wall-is-wrong' }
  | { readonly believe: 'wall'; readonly reason: 'time-was-lost' }
  | { readonly believe: 'nobody'; readonly reason: 'all-differ' } {
  if (agree(service, boot)) return { believe: 'boot', reason: 'wall-is-wrong' };
  // A virtual machine was paused, or a clock that was wrong at the start has been corrected.
  if (agree(service, wall)) return { believe: 'wall', reason: 'time-was-lost' };
  return { believe: 'nobody', reason: 'all-differ' };
}

/**
 * Decides at a start, when no base of the time since boot is known. `last` is the latest instant in the files; null if
 * there is none. No valid time lies before it, and of two later times the nearer is likelier.
 */
export function judgeStart({
  wall,
  service,
  last,
}: {
  wall: number;
  service: number;
  last: number | null;
}):
  | { readonly believe: 'wall'; readonly reason: 'agrees' | 'after-the-last' | 'nearer' | 'own' }
  | { readonly believe: 'service'; readonly reason: 'after-the-last' | 'nearer' | 'far-apart' } {
  if (agree(wall, service)) return { believe: 'wall', reason: 'agrees' };
  const mayBe = (now: number) => last !== null && now >= last - futureToleranceMs;
  if (mayBe(wall) && !mayBe(service)) return { believe: 'wall', reason: 'after-the-last' };
  if (mayBe(service) && !mayBe(wall)) return { believe: 'service', reason: 'after-the-last' };
  // If our clock is a few hours off, the effects are repaired when it is corrected. A service's clock may stay wrong
  // for ever.
  if (Math.abs(wall - service) < farApartMs) return { believe: 'wall', reason: 'own' };
  // If both lie before it, the last instant was wrong.
  if (!mayBe(wall)) return { believe: 'service', reason: 'far-apart' };
  return wall < service ? { believe: 'wall', reason: 'nearer' } : { believe: 'service', reason: 'nearer' };
}

/** Returns whether the service is asked for the time before anything else is done at a start. */
export function isImplausible(wall: number, last: number | null): boolean {
  return last !== null && (wall < last - futureToleranceMs || wall > last + longestDowntimeMs);
}
