import { existsSync } from 'node:fs';
import { endFollowing, hasNoted } from '../../copies/follow/followed-file.ts';
import { follow } from '../../copies/follow/follower.ts';
import type { PublishedRows } from '../../copies/follow/published-rows.ts';
import { SourceAway } from '../../copies/follow/source.ts';
import type { PublishedState } from '../../copies/postgres/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/log.ts';

/** The published state from which a leader continues, and its newest change. */
export type TakenOver = PublishedState & { readonly change: number };

export interface PublishedMirrorPorts {
  /** The mirror's file. */
  readonly path: string;
  /** All rows, also those that readers do not need. */
  readonly source: PublishedRows;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Milliseconds between two updates of a mirror that follows, and between two checks whether it has to follow. */
const everyMs = 250;
const lookEveryMs = 500;

/**
 * The mirror of an instance beside the state published in the database. Everything that a leader has announced is
 * published.
 */
export class PublishedMirror {
  readonly #ports: PublishedMirrorPorts;

  constructor(ports: PublishedMirrorPorts) {
    this.#ports = ports;
  }

  /**
   * Keeps the mirror equal to the published state until the signal aborts; calls `equal` when it is. Does nothing if
   * the published state comes from this mirror. Anything more in the mirror was never announced by a leader, and is
   * discarded.
   */
  async follow(signal: AbortSignal, equal: () => void): Promise<void> {
    const { clock, log } = this.#ports;
    let reported: string | null = null;
    while (!signal.aborted) {
      try {
        const found = await this.#behind();
        if (found === 'source') equal();
        if (found === 'behind') await this.#keepEqual(signal, equal);
      } catch (error) {
        // The publisher may have another version, and the next publisher may be one that can be followed. While the
        // database is unreachable the leader is unknown too, and the lease reports that.
        const reason = (error as Error).message;
        if (reason !== reported && !(error instanceof SourceAway))
          log.error({ err: error }, 'what is published cannot be followed');
        reported = reason;
      }
      await clock.sleep(lookEveryMs, signal).catch(() => undefined);
    }
  }

  /**
   * Prepares the mirror for a leader, when no other instance publishes any more. Returns the published state that it is
   * equal to; null: it continues from its own state. Throws `SourceAway` if the database does not answer, and the
   * reason of the signal.
   */
  async goOn(signal: AbortSignal): Promise<TakenOver | null> {
    const { path, log } = this.#ports;
    const equal = new AbortController();
    try {
      if ((await this.#behind()) === 'behind')
        await this.#keepEqual(AbortSignal.any([signal, equal.signal]), () => equal.abort());
    } catch (error) {
      if (error instanceof SourceAway) throw error;
      log.error({ err: error }, 'what is published cannot be taken over: the mirror goes on as it is');
    }
    signal.throwIfAborted();
    const ended = existsSync(path) ? endFollowing(path, { whole: equal.signal.aborted }) : null;
    return ended !== null && equal.signal.aborted
      ? { origin: ended.origin, state: ended.number, change: ended.change }
      : null;
  }

  #keepEqual(signal: AbortSignal, caughtUp: () => void): Promise<void> {
    return follow({ ...this.#ports, every: everyMs, own: process.pid, replaces: true, caughtUp }, signal);
  }

  /**
   * Returns whether the mirror has to follow the published state (`behind`). `source`: that state comes from this mirror;
   * `nothing`: nothing is published.
   */
  async #behind(): Promise<'nothing' | 'source' | 'behind'> {
    const { source, path } = this.#ports;
    const published = await source.published();
    if (published === null) return 'nothing';
    return hasNoted(path, published.source_origin, published.source_number) ? 'source' : 'behind';
  }
}
