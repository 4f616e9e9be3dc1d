/** How far our clock is from the service's, as its `Date` headers tell. */
export interface ServiceClock {
  /** What one answer says: the service's time less ours, in milliseconds. */
  heard(offset_ms: number): void;
  /** The median of the last five answers; null: none has come yet. */
  offset(): number | null;
  /** What the last answer alone says. */
  newest(): number | null;
}

/** An offset that a token has to be corrected for; below it, the second that a header rounds to and the way are all there is. */
export const offsetUsedMs = 5000;
/** An offset that a person should know of. */
export const offsetWarnedMs = 30_000;

const kept = 5;

export function serviceClock(): ServiceClock {
  const heard: number[] = [];
  return {
    heard: (offset) => {
      heard.push(offset);
      if (heard.length > kept) heard.shift();
    },
    offset: () => heard.toSorted((a, b) => a - b)[heard.length >> 1] ?? null,
    newest: () => heard.at(-1) ?? null,
  };
}
