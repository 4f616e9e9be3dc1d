/** Hands over to `store` what came together; resolves when that is done. */
export interface GroupCommit<Item> {
  /** Rejects with what `store` threw. */
  add(item: Item): Promise<void>;
}

/** Further turns of the event loop that a group may wait for, as long as each brings more: without a pause. */
const furtherTurns = 2;

/**
 * No timer, which would slow down every single delivery: whatever arrived while the last commit blocked the loop shares
 * the next one. One that comes alone is stored at the end of its own turn.
 */
export function groupCommit<Item>(store: (items: readonly Item[]) => void): GroupCommit<Item> {
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
      for (const { resolve } of group) resolve();
    } catch (error) {
      for (const { reject } of group) reject(error);
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
