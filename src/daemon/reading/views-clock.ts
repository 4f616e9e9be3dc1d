import type { sqliteLibrary } from '../../sqlite/read-only.ts';
import type { Engine } from '../../storefront/reader.ts';

/**
 * The clock by which the views of a reader judge: that of the machine, or a later one, which shows what an answer will
 * be then. Views take the time from SQLite's function `unixepoch`, so the reader's connection gets one of this name.
 */
export class ViewsClock {
  readonly #now: () => number;
  /** Seconds since 1970 that it stands at; null: it goes. */
  #standing: number | null = null;

  /** `now` returns epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns seconds since 1970. */
  seconds(): number {
    return this.#standing ?? Math.floor(this.#now() / 1000);
  }

  /** Calls `read` with the clock standing at so many seconds since 1970. */
  at<Result>(seconds: number, read: () => Result): Result {
    this.#standing = seconds;
    try {
      return read();
    } finally {
      this.#standing = null;
    }
  }

  /** Returns a library for readers whose views ask this clock. */
  engine(library: typeof sqliteLibrary): Engine {
    const seconds = () => this.seconds();
    return class extends library {
      constructor(...opening: ConstructorParameters<Engine>) {
        super(...opening);
        // Deterministic: SQLite asks once for each run of a statement, as it asks its own clock.
        this.function('unixepoch', { deterministic: true }, seconds);
      }
    };
  }
}
