/** The pause after the service refused the key; an answer to any call ends it. */
export interface KeyPause {
  /** Returns the service's message if it refuses the key, else null. */
  refused(): string | null;
  mayTry(now: number): boolean;
  /** Notes how a pass ended (null: the key was accepted); returns the pause in milliseconds. */
  note(refused: string | null, now: number): number;
  /** Ends the pause because somebody asked for a read. */
  tryNow(): void;
}

/** A minute, doubling up to an hour. */
const pauseMs = { first: 60_000, longest: 3_600_000 };

/** Creates the pause. `answers` returns how many calls the service has answered so far. */
export function keyPause(answers: () => number): KeyPause {
  const fresh = { refused: null as string | null, pause: pauseMs.first, not_before: 0, answers: 0 };
  let state = fresh;

  function look(): typeof state {
    if (state.refused !== null && answers() > state.answers) state = fresh;
    return state;
  }

  return {
    refused: () => look().refused,
    mayTry: (now) => now >= look().not_before,
    note: (refused, now) => {
      const { pause } = state;
      state =
        refused === null
          ? fresh
          : { refused, pause: Math.min(2 * pause, pauseMs.longest), not_before: now + pause, answers: answers() };
      return pause;
    },
    tryNow: () => {
      state = { ...state, refused: null, not_before: 0 };
    },
  };
}
