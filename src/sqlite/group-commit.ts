/** Hands over to `store` what came together. */
export interface GroupCommit<Item> {
  /** Resolves when the item is stored; rejects with what `store` threw where it is given up. `soon`: nobody waits for it. */
  add(item: Item, when?: 'now' | 'soon'): Promise<void>;
  /** Stores what waits, now, unless it is being tried again. */
  flush(): void;
  /** Stores what waits, for the last time: what cannot be stored is given up. */
  close(): void;
}

/** Waits before a group is attempted again; null: the group is given up. */
export type TryAgain = (error: unknown, waited_ms: number) => Promise<void> | null;

export interface GroupCommitOptions<Item> {
  /** Stores all of them in one transaction, or none. */
  store(items: readonly Item[]): void;
  /** Absent: nothing is attempted again. */
  readonly tryAgain?: TryAgain;
  readonly monotonic?: () => number;
  /** Waits for items added `soon`, so that others can join them: a wait for the disk also delays the answers of others. */
  soon?(): Promise<void>;
  /** Called for each item that is not stored at the first attempt. */
  late?(item: Item): void;
  /**
   * Limit of late items: beyond `waiting` the oldest are given up; up to `together` are stored at once when it continues.
   */
  readonly mostLate?: { readonly waiting: number; readonly together: number };
}

interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Further turns of the event loop that a group may wait for, as long as each brings more: without a pause. */
const furtherTurns = 2;
/**
 * Longest quick commit, in milliseconds. If a commit takes longer, a group waits as long as each turn brings more: a turn
 * accepts one connection, so a burst of fifty would take many commits. Megabytes on a fast disk take less than that, and
 * not too many of them should wait together.
 */
const slowMs = 50;
const noBounds = { waiting: Number.POSITIVE_INFINITY, together: Number.POSITIVE_INFINITY };

/**
 * No timer, which would slow down every single item: whatever arrived while the last commit blocked the loop shares the
 * next one. One that comes alone is stored at the end of its own turn. On a slow disk a group waits longer, but never longer
 * than the last commit took. What comes while a group is tried again joins it.
 */
export function groupCommit<Item>(options: GroupCommitOptions<Item>): GroupCommit<Item> {
  const { store, tryAgain = () => null, monotonic = () => 0, soon, late, mostLate = noBounds } = options;
  let waiting: Waiting<Item>[] = [];
  let gathering = false;
  /** Since when it is tried again; null: it is not. */
  let behind: { since: number; error: unknown } | null = null;
  let closed = false;
  let last_took_ms = 0;

  function gather(seen: number, turns: number, began: number): void {
    const isWorthMore = last_took_ms > slowMs && monotonic() - began < last_took_ms;
    gathering = waiting.length > seen && (isWorthMore || (waiting.length > 1 && turns < furtherTurns));
    if (gathering) setImmediate(gather, waiting.length, turns + 1, began);
    else flush();
  }

  function commit(): void {
    const group = waiting.slice(0, behind === null ? waiting.length : mostLate.together);
    if (group.length === 0) return;
    const began = monotonic();
    try {
      store(group.map(({ item }) => item));
    } catch (error) {
      failed(group, error);
      return;
    }
    last_took_ms = monotonic() - began;
    waiting = waiting.slice(group.length);
    for (const { resolve } of group) resolve();
    if (waiting.length === 0) behind = null;
    else setImmediate(commit);
  }

  function failed(group: readonly Waiting<Item>[], error: unknown): void {
    const since = behind?.since ?? monotonic();
    const later = closed ? null : tryAgain(error, monotonic() - since);
    if (later === null) {
      waiting = waiting.slice(group.length);
      behind = null;
      for (const { reject } of group) reject(error);
      if (waiting.length > 0) setImmediate(commit);
      return;
    }
    const isNew = behind === null;
    behind = { since, error };
    if (isNew) for (const { item } of group) late?.(item);
    giveUpOldest(error);
    void later.then(commit);
  }

  function giveUpOldest(error: unknown): void {
    for (const { reject } of waiting.splice(0, waiting.length - mostLate.waiting)) reject(error);
  }

  function begin(when: 'now' | 'soon'): void {
    if (when === 'soon' && soon !== undefined) {
      if (waiting.length === 1) void soon().then(flush);
    } else if (!gathering) {
      gathering = true;
      setImmediate(gather, 0, 0, monotonic());
    }
  }

  function flush(): void {
    if (behind === null) commit();
  }

  return {
    add: (item, when = 'now') => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.push({ item, resolve, reject });
      if (behind === null) begin(when);
      else {
        late?.(item);
        giveUpOldest(behind.error);
      }
      return promise;
    },
    flush,
    close: () => {
      closed = true;
      while (waiting.length > 0) commit();
    },
  };
}
