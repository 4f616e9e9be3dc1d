import { type VirtualClock, virtualClock } from '../fakes/virtual-clock.ts';

/** A clock that a test moves by hand: what was begun before a move takes effect first. */
export function manualClock(start = Date.UTC(2026, 10, 21)): VirtualClock {
  const clock = virtualClock(start);
  return {
    ...clock,
    advance: async (ms) => {
      await new Promise(setImmediate);
      await clock.advance(ms);
      await new Promise(setImmediate);
    },
  };
}
