import type { Database } from 'better-sqlite3';
import { openMirrorForReading } from '../../../src/mirror/sql/files.ts';
import type { RealWorld } from './real-world.ts';

/** A condition that began on a day. Seconds from the beginning, and from the end; null: it still held at the last look. */
export interface Began {
  readonly code: string;
  readonly says: string;
  readonly after: number;
  readonly ended: number | null;
}

/** Follows the conditions that did not hold before a day. */
export class Conditions {
  readonly #world: RealWorld;
  readonly #usual: ReadonlySet<string>;
  readonly #found = new Map<string, { readonly says: string; readonly from: number; readonly until: number }>();
  readonly #began_at = Date.now();
  #looked_at = 0;
  #ended_at = Number.POSITIVE_INFINITY;

  constructor(world: RealWorld, usual: Iterable<string>) {
    this.#world = world;
    this.#usual = new Set(usual);
  }

  async look(): Promise<void> {
    const now = await this.#world.status().catch(() => null);
    if (now === null) return;
    this.#looked_at = Date.now();
    for (const { code, says } of now.conditions) {
      if (this.#usual.has(code)) continue;
      const known = this.#found.get(code);
      const isDay = this.#ended_at > this.#looked_at;
      const from = known?.from ?? this.#looked_at;
      this.#found.set(code, { says: isDay ? says : (known?.says ?? says), from, until: this.#looked_at });
    }
  }

  /** Ends the day. */
  end(): number {
    this.#ended_at = Date.now();
    return this.#ended_at;
  }

  /** Returns those that held at the last look. */
  now(): string[] {
    return [...this.#found].filter(([, { until }]) => until === this.#looked_at).map(([code]) => code);
  }

  all(): Began[] {
    const now = this.now();
    return [...this.#found].map(([code, { says, from, until }]) => ({
      code,
      says,
      after: (from - this.#began_at) / 1000,
      ended: now.includes(code) ? null : Math.max(0, (until - this.#ended_at) / 1000),
    }));
  }
}

/** How many records were read, of how many. */
interface Counted {
  readonly read: number;
  readonly all: number;
}

/** Counts what is read from now on, and what the service answers with 200. */
export class Reads {
  /** `others`: all but those that a refusal is about. */
  others: Counted = { read: 0, all: 0 };
  refused: Counted = { read: 0, all: 0 };
  /** Seconds after which all others were read; null: they are not. */
  after: number | null = null;
  /** Calls a second that were answered with 200 until then. */
  rate = 0;
  /** Calls of the daemon, however they were answered. */
  calls = 0;
  readonly #world: RealWorld;
  readonly #about: string;
  readonly #began: { readonly at: number; readonly answered: number; readonly calls: number };

  /** `about`: the records that are refused, in SQL. */
  constructor(world: RealWorld, about: string) {
    this.#world = world;
    this.#about = about;
    this.#began = { at: Date.now(), answered: this.#answered(), calls: world.way.calls };
  }

  look(): void {
    const { at, answered, calls } = this.#began;
    const counts = this.#counts();
    this.others = counts.find(({ refused }) => refused === 0) ?? { read: 0, all: 0 };
    this.refused = counts.find(({ refused }) => refused === 1) ?? { read: 0, all: 0 };
    this.calls = this.#world.way.calls - calls;
    // Before the list is read there are hardly any records.
    const isAll = this.others.read === this.others.all && this.others.all > this.#world.ids.length;
    if (!isAll) this.after = null;
    else if (this.after !== null) return;
    else this.after = (Date.now() - at) / 1000;
    this.rate = (this.#answered() - answered) / ((Date.now() - at) / 1000);
  }

  #answered(): number {
    return this.#world.sandbox.calls.counts().by_status['200'] ?? 0;
  }

  #counts(): (Counted & { readonly refused: number })[] {
    let db: Database | null = null;
    try {
      db = openMirrorForReading(this.#world.mirror);
      return db
        .prepare<[number], Counted & { readonly refused: number }>(
          `SELECT ${this.#about} AS refused, count(*) AS "all", sum(COALESCE(fetched_at, 0) >= ?) AS read
           FROM _record GROUP BY 1`,
        )
        .all(this.#began.at);
    } catch {
      // The daemon has not made it yet.
      return [];
    } finally {
      db?.close();
    }
  }
}
