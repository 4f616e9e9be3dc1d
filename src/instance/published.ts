import { existsSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { PublishedState } from '../database/schema.ts';
import { type DatabaseSource, databaseSource } from '../follow/database-source.ts';
import { endFollowing, isPublishedFrom } from '../follow/followed-file.ts';
import { follow } from '../follow/follower.ts';
import { SourceAway } from '../follow/source.ts';
import type { Logger } from '../log.ts';

/**
 * The mirror of an instance beside the state published in the database. Everything that a leader has announced is
 * published.
 */
export interface PublishedMirror extends AsyncDisposable {
  /**
   * Keeps the mirror equal to the published state until the signal aborts; calls `equal` when it is. Does nothing if
   * the published state comes from this mirror. Anything more in the mirror was never announced by a leader, and is
   * discarded.
   */
  follow(signal: AbortSignal, equal: () => void): Promise<void>;
  /**
   * Prepares the mirror for a leader, when no other instance publishes any more. Returns the published state that it is
   * equal to; null: it continues from its own state. Throws `SourceAway` if the database does not answer, and the
   * reason of the signal.
   */
  goOn(signal: AbortSignal): Promise<TakenOver | null>;
}

/** The published state from which a leader continues, and its newest change. */
export type TakenOver = PublishedState & { readonly change: number };

export interface PublishedMirrorPorts {
  /** The mirror's file. */
  readonly path: string;
  /** URL of the database, and the schema of the published tables. */
  readonly url: string;
  readonly schema: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Milliseconds between two updates of a mirror that follows, and between two checks whether it has to follow. */
const everyMs = 250;
const lookEveryMs = 500;

export async function publishedMirror(ports: PublishedMirrorPorts): Promise<PublishedMirror> {
  const { path, url, schema, clock, log } = ports;
  const source = await databaseSource({ from: url, schema, password: null, rows: 'all' });
  const keepEqual = (signal: AbortSignal, equal: () => void) =>
    follow({ source, path, every: everyMs, clock, log, own: process.pid, replaces: true, caughtUp: equal }, signal);
  const isBehind = () => behind(source, path);
  return {
    follow: async (signal, equal) => {
      let told: string | null = null;
      while (!signal.aborted) {
        try {
          const found = await isBehind();
          if (found === 'source') equal();
          if (found === 'behind') await keepEqual(signal, equal);
        } catch (error) {
          // The publisher may have another version, and the next publisher may be one that can be followed. While the
          // database is unreachable the leader is unknown too, and the lease reports that.
          const reason = (error as Error).message;
          if (reason !== told && !(error instanceof SourceAway))
            log.error({ err: error }, 'what is published cannot be followed');
          told = reason;
        }
        await clock.sleep(lookEveryMs, signal).catch(() => undefined);
      }
    },
    goOn: async (signal) => {
      const equal = new AbortController();
      try {
        if ((await isBehind()) === 'behind')
          await keepEqual(AbortSignal.any([signal, equal.signal]), () => equal.abort());
      } catch (error) {
        if (error instanceof SourceAway) throw error;
        log.error({ err: error }, 'what is published cannot be taken over: the mirror goes on as it is');
      }
      signal.throwIfAborted();
      const ended = existsSync(path) ? endFollowing(path, { whole: equal.signal.aborted }) : null;
      return ended !== null && equal.signal.aborted
        ? { origin: ended.origin, state: ended.number, change: ended.change }
        : null;
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

/**
 * Returns whether the mirror has to follow the published state (`behind`). `source`: that state comes from this mirror;
 * `nothing`: nothing is published.
 */
async function behind(source: DatabaseSource, path: string): Promise<'nothing' | 'source' | 'behind'> {
  const published = await source.published();
  if (published === null) return 'nothing';
  return isPublishedFrom(path, published) ? 'source' : 'behind';
}
