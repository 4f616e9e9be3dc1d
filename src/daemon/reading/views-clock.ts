import type { sqliteLibrary } from '../../kernel/sqlite/read-only.ts';
import type { BoundValues } from '../../storefront/engine.ts';
import type { Engine } from '../../storefront/reader.ts';

/**
 * The clock by which the views of a reader judge: that of the machine, or a later one, which shows what an answer will
 * be then. Views take the time from SQLite's function `unixepoch`, so the reader's connection gets one of this name.
 */
export class ViewsClock {
  readonly #now: () => number;
  /** Seconds since 1970 that it stands at; null: it goes. */
  #standing: number | null = null;

  /** Counts the times that a statement asked for the time. */
  #asked = 0;
  /** Answers of statements that did not ask for the time, by statement and bound values; null: none are kept. */
  #kept: Map<object, Map<string, unknown>> | null = null;

  /** `now` returns epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns seconds since 1970. */
  seconds(): number {
    return this.#standing ?? this.going();
  }

  /** Returns seconds since 1970, wherever the clock stands. */
  going(): number {
    return Math.floor(this.#now() / 1000);
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

  /**
   * Keeps the answers of statements that do not ask the clock while `read` runs, inside a transaction: at another instant
   * they are the same.
   */
  keeping<Result>(read: () => Result): Result {
    this.#kept = new Map();
    try {
      return read();
    } finally {
      this.#kept = null;
    }
  }

  /** Asks the clock for a statement under way. */
  ask(): number {
    this.#asked += 1;
    return this.seconds();
  }

  /** Returns what `run` returns, or the answer that is kept for `asked`. */
  answerOf(statement: object, asked: string, run: () => unknown): unknown {
    if (this.#kept === null) return run();
    const answers = this.#kept.get(statement) ?? new Map<string, unknown>();
    this.#kept.set(statement, answers);
    if (answers.has(asked)) return answers.get(asked);
    const before = this.#asked;
    const answer = run();
    if (this.#asked === before) answers.set(asked, answer);
    return answer;
  }

  /** Returns a library for readers whose views ask this clock. */
  engine(library: typeof sqliteLibrary): Engine {
    const clock = this;
    return class {
      readonly #file;

      constructor(...opening: ConstructorParameters<Engine>) {
        this.#file = new library(...opening);
        // Deterministic: SQLite asks once for each run of a statement, as it asks its own clock.
        this.#file.function('unixepoch', { deterministic: true }, () => clock.ask());
        // Only product_popularity asks it: what is late by a minute does not matter there.
        this.#file.function('unixepoch', { deterministic: true }, (_now: 'now') => clock.going());
      }

      get inTransaction(): boolean {
        return this.#file.inTransaction;
      }

      prepare(sql: string) {
        const statement = this.#file.prepare(sql);
        return {
          all: (bound: BoundValues) =>
            clock.answerOf(statement, `all ${JSON.stringify(bound)}`, () => statement.all(bound)),
          get: (bound: BoundValues) =>
            clock.answerOf(statement, `get ${JSON.stringify(bound)}`, () => statement.get(bound)),
        };
      }

      exec(sql: string): unknown {
        return this.#file.exec(sql);
      }

      close(): unknown {
        return this.#file.close();
      }
    };
  }
}
