/** Hands over to `store` what came together; resolves when that is done. */
export interface GroupCommit<Item> {
  /** Rejects with what `store` threw. */
  add(item: Item): Promise<void>;
}

/** What a group waits for before it is tried once more; null: it is given up. */
export type TryAgain = (error: unknown, waited_ms: number) => Promise<void> | null;

/** Further turns of the event loop that a group may wait for, as long as each brings more: without a pause. */
const furtherTurns = 2;

/**
 * No timer, which would slow down every single delivery: whatever arrived while the last commit blocked the loop shares
 * the next one. One that comes alone is stored at the end of its own turn.
 */
export function groupCommit<Item>(
  store: (items: readonly Item[]) => void,
  { tryAgain = () => null, monotonic = () => 0 }: { tryAgain?: TryAgain; monotonic?: () => number } = {},
): GroupCommit<Item> {
  /** Since when a group is tried again; null: none is. */
  let since: number | null = null;
  let waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  function gather(seen: number, turns: number): void {
    const grows = waiting.length > 1 && waiting.length > seen;
    if (grows && turns < furtherTurns) setImmediate(gather, waiting.length, turns + 1);
    else commit();
  }
  function commit(): void {
    const group = waiting;
    waiting = [];
    try {
      store(group.map(({ item }) => item));
      since = null;
      for (const { resolve } of group) resolve();
    } catch (error) {
      since ??= monotonic();
      const later = tryAgain(error, monotonic() - since);
      if (later === null) {
        since = null;
        for (const { reject } of group) reject(error);
        return;
      }
      // What comes meanwhile joins it: nothing else is scheduled as long as something waits.
      waiting = group;
      void later.then(commit);
    }
  }
  return {
    add: (item) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (waiting.length === 0) setImmediate(gather, 0, 0);
      waiting.push({ item, resolve, reject });
      return promise;
    },
  };
}
