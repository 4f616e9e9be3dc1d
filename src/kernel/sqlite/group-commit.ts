/** Patience with a group that cannot be stored. */
export interface CommitPatience {
  /** Waits before the group is attempted again; null: it is given up. */
  tryAgain(error: unknown, waited_ms: number): Promise<void> | null;
  /** Of what waits meanwhile: beyond `waiting` the oldest is given up; up to `together` is stored at once when it continues. */
  readonly most: { readonly waiting: number; readonly together: number };
}

interface Waits {
  /** Waits so that others can join: a wait for the disk also delays the answers of others. Absent: a turn of the event loop. */
  readonly pause?: (() => Promise<void>) | undefined;
  /** Called if the item is not stored at the first attempt. */
  readonly late?: (() => void) | undefined;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly late: Waits['late'];
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
/** No limits. */
export const anyNumber = { waiting: Number.POSITIVE_INFINITY, together: Number.POSITIVE_INFINITY };

/**
 * Hands over to `store` what came together. No timer, which would slow down every single item: whatever arrived while the
 * last commit blocked the loop shares the next one. One that comes alone is stored at the end of its own turn. On a slow
 * disk a group waits longer, but never longer than the last commit took. What comes while a group is tried again joins it.
 */
export class GroupCommit<Item> {
  readonly #monotonic: () => number;
  readonly #store: (items: readonly Item[]) => void;
  readonly #patience: CommitPatience;
  #waiting: Waiting<Item>[] = [];
  #gathering = false;
  /** Since when it is tried again; null: it is not. */
  #behind: { readonly since: number; readonly error: unknown } | null = null;
  #closed = false;
  #last_took_ms = 0;

  /** `store` stores all of them in one transaction, or none. */
  constructor(monotonic: () => number, store: (items: readonly Item[]) => void, patience: CommitPatience) {
    this.#monotonic = monotonic;
    this.#store = store;
    this.#patience = patience;
  }

  /** Resolves when the item is stored; rejects with what `store` threw where it is given up. */
  add(item: Item, { pause, late }: Waits = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, late, resolve, reject });
    if (this.#behind === null) this.#begin(pause);
    else {
      late?.();
      this.#giveUpOldest(this.#behind.error);
    }
    return promise;
  }

  /** Stores what waits, now, unless it is being tried again. */
  flush(): void {
    if (this.#behind === null) this.#commit();
  }

  /** Stores what waits, for the last time: what cannot be stored is given up. */
  close(): void {
    this.#closed = true;
    while (this.#waiting.length > 0) this.#commit();
  }

  #begin(pause: Waits['pause']): void {
    if (pause !== undefined) {
      if (this.#waiting.length === 1) void pause().then(() => this.flush());
    } else if (!this.#gathering) {
      this.#gathering = true;
      const began = this.#monotonic();
      setImmediate(() => this.#gather(0, 0, began));
    }
  }

  #gather(seen: number, turns: number, began: number): void {
    const waiting = this.#waiting.length;
    const isWorthMore = this.#last_took_ms > slowMs && this.#monotonic() - began < this.#last_took_ms;
    this.#gathering = waiting > seen && (isWorthMore || (waiting > 1 && turns < furtherTurns));
    if (this.#gathering) setImmediate(() => this.#gather(waiting, turns + 1, began));
    else this.flush();
  }

  #commit(): void {
    const { together } = this.#patience.most;
    const group = this.#waiting.slice(0, this.#behind === null ? this.#waiting.length : together);
    if (group.length === 0) return;
    const began = this.#monotonic();
    try {
      this.#store(group.map(({ item }) => item));
    } catch (error) {
      this.#failed(group, error);
      return;
    }
    this.#last_took_ms = this.#monotonic() - began;
    this.#waiting = this.#waiting.slice(group.length);
    for (const { resolve } of group) resolve();
    if (this.#waiting.length === 0) this.#behind = null;
    else setImmediate(() => this.#commit());
  }

  #failed(group: readonly Waiting<Item>[], error: unknown): void {
    const since = this.#behind?.since ?? this.#monotonic();
    const later = this.#closed ? null : this.#patience.tryAgain(error, this.#monotonic() - since);
    if (later === null) {
      this.#waiting = this.#waiting.slice(group.length);
      this.#behind = null;
      for (const { reject } of group) reject(error);
      if (this.#waiting.length > 0) setImmediate(() => this.#commit());
      return;
    }
    const isNew = this.#behind === null;
    this.#behind = { since, error };
    if (isNew) for (const { late } of group) late?.();
    this.#giveUpOldest(error);
    void later.then(() => this.#commit());
  }

  #giveUpOldest(error: unknown): void {
    const tooMany = this.#waiting.length - this.#patience.most.waiting;
    for (const { reject } of this.#waiting.splice(0, tooMany)) reject(error);
  }
}
