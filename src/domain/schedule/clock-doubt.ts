import { futureToleranceMs } from './record.ts';

/*
 * Decides which clock is right. Three tell the time: the machine's wall clock, which may jump; the time since boot,
 * which counts through a suspend and never jumps, added to the last believed instant; and the service's `Date`. Two of
 * three decide.
 */

/** Two clocks that differ by no more than this agree: a `Date` has whole seconds, and answers are under way for some. */
export const agreeMs = 60_000;

/** For this long after a doubt has ended, nothing is pruned, swept or rotated. */
export const quietMs = 3_600_000;

/** No daemon is down for longer than this: at a start the wall clock is doubted instead. */
const longestDowntimeMs = 30 * 86_400_000;

/** If nothing else decides, a service is believed against our wall clock only if they are at least a day apart. */
const farApartMs = 86_400_000;

const agree = (one: number, other: number) => Math.abs(one - other) <= agreeMs;

/** Decides after a jump, from what each clock shows now. */
export function judgeJump({
  wall,
  boot,
  service,
}: Record<'wall' | 'boot' | 'service', number>):
  | { readonly believe: 'boot'; readonly reason: 'wall-is-wrong' }
  | { readonly believe: 'wall'; readonly reason: 'time-was-lost' }
  | { readonly believe: 'nobody'; readonly reason: 'all-differ' } {
  if (agree(service, boot)) return { believe: 'boot', reason: 'wall-is-wrong' };
  // A virtual machine that was paused, or a clock that was wrong at the start and has been set right.
  if (agree(service, wall)) return { believe: 'wall', reason: 'time-was-lost' };
  return { believe: 'nobody', reason: 'all-differ' };
}

/**
 * Decides at a start, when nobody knows what the time since boot counts from: `last` is the latest instant that the
 * files hold, null where they hold none. No time lies before it, and the nearer one is likelier.
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
  // A clock of ours that is a few hours off is healed when it is set right; a service's may stay so for ever.
  if (Math.abs(wall - service) < farApartMs) return { believe: 'wall', reason: 'own' };
  // If both lie before it, the last instant was wrong.
  if (!mayBe(wall)) return { believe: 'service', reason: 'far-apart' };
  return wall < service ? { believe: 'wall', reason: 'nearer' } : { believe: 'service', reason: 'nearer' };
}

/** Tells whether the service is asked for the time before anything is done at a start. */
export function isImplausible(wall: number, last: number | null): boolean {
  return last !== null && (wall < last - futureToleranceMs || wall > last + longestDowntimeMs);
}
