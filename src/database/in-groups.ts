/**
 * Stores each item, in groups: what comes while one group is on its way makes up the next, so that a flood takes as many
 * round trips as it lasts, not as many as it has items. Resolves when the item is stored; rejects with what `store` throws.
 */
export function inGroups<Item>(
  store: (items: readonly Item[]) => Promise<void>,
  most: number,
): (item: Item) => Promise<void> {
  const waiting: { readonly item: Item; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] =
    [];
  let storing = false;

  async function work(): Promise<void> {
    storing = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0, most);
      try {
        await store(group.map(({ item }) => item));
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    storing = false;
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ item, resolve, reject });
    if (!storing) void work();
    return promise;
  };
}
