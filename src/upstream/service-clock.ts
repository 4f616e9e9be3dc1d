/** How far our clock is from the service's, as its `Date` headers tell. */
export interface ServiceClock {
  /** What one answer says: the service's time less ours, in milliseconds; null: it says nothing. */
  heard(offset_ms: number | null): void;
  /** Forgets what was heard: our own time was moved. */
  forget(): void;
  /** The median of the last five answers; null: none has come yet. */
  offset(): number | null;
  /** Returns what the last answer alone says. */
  newest(): number | null;
}

/** An offset that a token has to be corrected for; below it, the second that a header rounds to and the way are all there is. */
export const offsetUsedMs = 5000;
/** An offset that a person should know of. */
const offsetWarnedMs = 30_000;

const kept = 5;

/** Tells whether the two clocks are so far apart that one of them is wrong. */
export function isWrong(offset: number | null): boolean {
  return offset !== null && Math.abs(offset) > offsetWarnedMs;
}

/** `apart` is told when the clocks begin to be too far apart, once until they agree again. */
export function serviceClock(apart: (offset_ms: number) => void = () => undefined): ServiceClock {
  const heard: number[] = [];
  let told = false;
  const median = () => heard.toSorted((a, b) => a - b)[heard.length >> 1] ?? null;
  return {
    heard: (offset) => {
      if (offset === null) return;
      heard.push(offset);
      if (heard.length > kept) heard.shift();
      const now = median();
      if (isWrong(now) && !told) apart(now ?? offset);
      told = isWrong(now);
    },
    forget: () => {
      heard.length = 0;
    },
    offset: median,
    newest: () => heard.at(-1) ?? null,
  };
}
