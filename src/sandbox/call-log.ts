/** Counts of the requests to the sandbox. Forty-five thousand calls must stay cheap. */
export interface CallLog {
  note(call: { path: string; query: string; status: number }): void;
  /** Returns the number of calls: in all, by kind of path, and by status. */
  counts(): { calls: number; by_kind: Record<string, number>; by_status: Record<string, number> };
  /** Returns the requests that were answered with 200 more than once, each with the number of answers. */
  repeated(): Map<string, number>;
  /** Resolves when this many calls have come. */
  reached(calls: number): Promise<void>;
  reset(): void;
}

/** Creates a call log. `counted`: the answers that are remembered to detect repeated requests. */
export function callLog(counted: 'every request' | 'none'): CallLog {
  let calls = 0;
  const byKind = new Map<string, number>();
  const byStatus = new Map<string, number>();
  const answered = new Map<string, number>();
  let waiting: { calls: number; resolve: () => void }[] = [];
  const count = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
  return {
    note: ({ path, query, status }) => {
      calls += 1;
      count(byKind, path.replace(/\d{3,}/g, '{id}'));
      count(byStatus, String(status));
      if (status === 200 && counted === 'every request') count(answered, `${path}${query}`);
      for (const each of waiting) if (calls >= each.calls) each.resolve();
      waiting = waiting.filter((each) => calls < each.calls);
    },
    counts: () => ({ calls, by_kind: Object.fromEntries(byKind), by_status: Object.fromEntries(byStatus) }),
    repeated: () => new Map([...answered].filter(([, times]) => times > 1)),
    reached: (wanted) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (calls >= wanted) resolve();
      else waiting.push({ calls: wanted, resolve });
      return promise;
    },
    reset: () => {
      calls = 0;
      for (const map of [byKind, byStatus, answered]) map.clear();
    },
  };
}
