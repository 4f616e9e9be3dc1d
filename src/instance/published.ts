import { existsSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import type { Begun } from '../database/publication.ts';
import { type DatabaseSource, databaseSource } from '../follow/database-source.ts';
import { endFollowing, isPublishedFrom } from '../follow/followed-file.ts';
import { follow } from '../follow/follower.ts';
import { SourceAway } from '../follow/source.ts';
import type { Logger } from '../log.ts';

/** The mirror of an instance beside what is published in the database: all that any leader has told is there. */
export interface PublishedMirror extends AsyncDisposable {
  /**
   * Keeps the mirror equal to what is published, unless that comes from it, until the signal is aborted; calls `equal`
   * when it is. What it holds beyond was never told by a leader, and is forgotten.
   */
  follow(signal: AbortSignal, equal: () => void): Promise<void>;
  /**
   * Readies the mirror for a leader: nobody else publishes any more. Returns what it is equal to; null: it goes on as it is.
   * Throws `SourceAway` where the database does not tell, and the reason of the signal.
   */
  goOn(signal: AbortSignal): Promise<TakenOver | null>;
}

/** The state with which a leader goes on, and its newest change. */
export type TakenOver = Begun & { readonly change: number };

export interface PublishedMirrorPorts {
  /** The mirror's file. */
  readonly path: string;
  /** Of the database, and the schema that is published into. */
  readonly url: string;
  readonly schema: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often a mirror that follows is brought up to date, and how often one that need not looks whether it does. */
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
          // Of another version, perhaps: whoever publishes next may be one that can be followed. Who leads is not known either
          // while the database is away, which is said there.
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

/** What is published comes from the mirror itself, or nothing is; or the mirror has to follow it. */
async function behind(source: DatabaseSource, path: string): Promise<'nothing' | 'source' | 'behind'> {
  const published = await source.published();
  if (published === null) return 'nothing';
  return isPublishedFrom(path, published) ? 'source' : 'behind';
}
