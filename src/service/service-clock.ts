import { isClockOff } from '../schedule/clock-doubt.rules.ts';

/** Offset of our clock from the service's clock, estimated from the service's `Date` headers. */
export interface ServiceClock {
  /** Records the offset in one answer: the service's time minus ours, in milliseconds; null if the answer has none. */
  heard(offset_ms: number | null): void;
  /** Forgets the recorded offsets because our own time was changed. */
  forget(): void;
  /** Returns the median of the last five answers; null if none has come yet. */
  offset(): number | null;
  /** Returns the offset in the newest answer alone. */
  newest(): number | null;
}

/** An offset that a token has to be corrected for; below it, the second that a header rounds to and the way are all there is. */
export const offsetUsedMs = 5000;
const kept = 5;

/** Calls `apart` when the clocks become too far apart, and not again before they have agreed. */
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
      if (isClockOff(now) && !told) apart(now ?? offset);
      told = isClockOff(now);
    },
    forget: () => {
      heard.length = 0;
    },
    offset: median,
    newest: () => heard.at(-1) ?? null,
  };
}
