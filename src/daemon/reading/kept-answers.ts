import type { Database } from '../../kernel/sqlite/database-file.ts';
import type { ReaderCall, Representation } from './representation.ts';

/** The most bytes of answers that are kept. */
const mostKept = 4_000_000;

/** An answer whose body is encoded once, however often it is sent. */
export type EncodedAnswer = Omit<Representation, 'body'> & { readonly body: Buffer };

interface Asked {
  readonly version: number;
  readonly answer: Promise<EncodedAnswer>;
}

/**
 * Keeps the answers to calls for as long as neither the mirror nor the clock changes them: equal questions of many
 * shoppers are answered once. Any commit to the mirror, by whatever program, ends all of them.
 */
export class AnswerCache {
  readonly #versionOf: () => number;
  readonly #now: () => number;
  /** State of the mirror of which all kept answers are. */
  #version = Number.NaN;
  /**
   * True for the rest of a turn of the event loop. A caller who knows of a later commit has been told in a later turn,
   * because what is told leaves the process after it.
   */
  #looked = false;
  #bytes = 0;
  readonly #kept = new Map<string, EncodedAnswer>();
  /** The questions under way. */
  readonly #asked = new Map<string, Asked>();

  /** `now`: epoch milliseconds by the clock that the answers name. */
  constructor(mirror: Database, now: () => number) {
    // Outside transactions, a connection sees each commit of another one as another number.
    const version = mirror.prepare<[], number>('PRAGMA data_version').pluck();
    this.#versionOf = () => version.get() ?? Number.NaN;
    this.#now = now;
  }

  /** Returns the answer to a call as it is now: a kept one, or that of `ask`. Rejects with what `ask` rejects with. */
  async of(call: ReaderCall, ask: () => Promise<Representation>): Promise<EncodedAnswer> {
    const key = JSON.stringify([call.name, call.asked]);
    if (!this.#looked) this.#lookOnceATurn();
    const version = this.#version;
    const kept = this.#current(this.#kept.get(key));
    if (kept !== null) return kept;
    const open = this.#asked.get(key);
    // Nothing was committed since it was asked, so what it reads is no older than this question.
    if (open?.version === version) {
      const joined = this.#current(await open.answer);
      if (joined !== null) return joined;
    }
    const own = { version, answer: ask().then(encoded) };
    this.#asked.set(key, own);
    try {
      const answer = await own.answer;
      this.#look();
      if (this.#version === version) this.#keep(key, answer);
      return answer;
    } finally {
      if (this.#asked.get(key) === own) this.#asked.delete(key);
    }
  }

  #lookOnceATurn(): void {
    this.#look();
    this.#looked = true;
    setImmediate(() => {
      this.#looked = false;
    });
  }

  /** Drops what is kept of an earlier state of the mirror. */
  #look(): void {
    const version = this.#versionOf();
    if (version !== this.#version) this.#drop();
    this.#version = version;
  }

  /** Returns an answer as it is now; null: there is none, or the clock may have changed it. */
  #current(answer: EncodedAnswer | undefined): EncodedAnswer | null {
    const at = Math.floor(this.#now() / 1000);
    if (answer === undefined || at < answer.at || at > answer.holds_until) return null;
    return { ...answer, at };
  }

  #keep(key: string, answer: EncodedAnswer): void {
    if (this.#bytes > mostKept) this.#drop();
    this.#bytes += key.length + answer.body.length - (this.#kept.get(key)?.body.length ?? 0);
    this.#kept.set(key, answer);
  }

  #drop(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }
}

/** Encodes the body of an answer. */
export function encoded({ body, ...answer }: Representation): EncodedAnswer {
  return { ...answer, body: Buffer.from(body) };
}
