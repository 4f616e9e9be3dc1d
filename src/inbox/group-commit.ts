/** Hands over to `store` what came in the same turn of the event loop; resolves when that is done. */
export interface GroupCommit<Item> {
  /** Rejects with what `store` threw. */
  add(item: Item): Promise<void>;
}

/** No timer: whatever arrived while the last commit blocked the loop shares the next one. */
export function groupCommit<Item>(store: (items: readonly Item[]) => void): GroupCommit<Item> {
  let waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
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
      if (waiting.length === 0) setImmediate(commit);
      waiting.push({ item, resolve, reject });
      return promise;
    },
  };
}
