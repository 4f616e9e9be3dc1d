import type { ServerResponse } from 'node:http';
import { type ChangeFeed, changeJson } from '../feed/changes.store.ts';
import type { Clock } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { InterfaceRoom } from './listening.ts';

export interface ChangeStreamOptions {
  readonly feed: ChangeFeed;
  readonly clock: Clock;
  /** Calls the listener after each commit that adds to the feed. */
  onChanges(listener: () => void): Disposable;
}

/** The change feed over HTTP: a page as JSON, or all changes after a cursor as server-sent events. */
export interface ChangeStream extends AsyncDisposable {
  /**
   * Returns one page of changes as JSON text. Throws the errors of `ChangeFeed.after`, and `bad-cursor` and
   * `bad-limit`.
   */
  page(question: FeedQuestion): string;
  /**
   * Sends events until the client disconnects or the stream is disposed. Throws the errors of `page`, before anything
   * is sent.
   */
  follow(question: FeedQuestion, response: ServerResponse): void;
}

/**
 * The parameters of a request, not yet validated. `after`: the cursor; without it the answer starts at the beginning of
 * the feed. `feed`: the feed of the cursor, by which a cursor from before a refill, restore or repair of the mirror is
 * refused.
 */
export interface FeedQuestion {
  readonly after?: unknown;
  readonly feed?: unknown;
  readonly limit?: unknown;
}

const usualPage = 100;
const longestPage = 1000;
/** The most changes held for a follower at a time, besides those that its socket has accepted. */
const eventsAtOnce = 100;
/** The number of followers served between two turns of the event loop. */
const followersAtOnce = 50;
const pagesKept = 8;
const heartbeatMs = 15_000;
/**
 * The number of heartbeats after which a follower that has read nothing is disconnected. It reconnects with its
 * Last-Event-ID.
 */
const patience = 20;
const graceMs = 1000;

interface Follower {
  readonly response: ServerResponse;
  after: number;
  /**
   * `idle`: it has every change; `ready`: it gets more in the next turn of the event loop; `blocked`: its socket
   * accepts no more for now.
   */
  state: 'idle' | 'ready' | 'blocked';
  heartbeats_missed: number;
}

/**
 * Creates the stream. Commits wake the followers, which read the file at their own pace; nothing is queued for them.
 * Followers at the same position share the text that is sent.
 */
export function changeStream({ feed, clock, onChanges }: ChangeStreamOptions, room: InterfaceRoom): ChangeStream {
  const followers = new Set<Follower>();
  const pages = new Map<number, { text: string; next: number; more: boolean }>();
  const closing = new AbortController();
  const ready: Follower[] = [];
  let turning = false;

  function pageAfter(after: number) {
    const known = pages.get(after);
    if (known !== undefined) return known;
    // The feed stays the same while the daemon runs. The follower's feed was checked when it connected.
    const { changes, next } = feed.after(after, eventsAtOnce);
    const text = changes.map((change) => `id: ${change.seq}\nevent: change\ndata: ${changeJson(change)}\n\n`).join('');
    const page = { text, next, more: changes.length === eventsAtOnce };
    if (pages.size >= pagesKept) pages.delete(pages.keys().next().value ?? 0);
    pages.set(after, page);
    return page;
  }

  function makeReady(follower: Follower): void {
    follower.state = 'ready';
    ready.push(follower);
    if (turning) return;
    turning = true;
    setImmediate(turn);
  }

  function turn(): void {
    for (const follower of ready.splice(0, followersAtOnce)) if (followers.has(follower)) serve(follower);
    turning = ready.length > 0;
    if (turning) setImmediate(turn);
  }

  function serve(follower: Follower): void {
    follower.state = 'idle';
    try {
      const { text, next, more } = pageAfter(follower.after);
      follower.after = next;
      if (text === '' || !send(follower, text)) return;
      if (more) makeReady(follower);
    } catch (error) {
      followers.delete(follower);
      // Any other error is answered and logged when the client reconnects.
      if (!(error instanceof CataloguedError)) return void follower.response.destroy();
      // Retention has deleted the follower's next changes. The event has no id, so the client reconnects with its old
      // cursor and gets the error.
      const { code, message, hint } = error;
      follower.response.end(`event: reset\ndata: ${JSON.stringify({ error: code, message, hint })}\n\n`);
    }
  }

  /** Sends text. Returns whether more can be sent at once; otherwise sending continues when the socket has drained. */
  function send(follower: Follower, text: string): boolean {
    if (follower.response.write(text)) return true;
    follower.state = 'blocked';
    follower.response.once('drain', () => {
      follower.heartbeats_missed = 0;
      makeReady(follower);
    });
    return false;
  }

  async function beat(): Promise<void> {
    for (;;) {
      await clock.sleep(heartbeatMs, closing.signal);
      for (const follower of followers) {
        if (follower.state === 'idle') send(follower, ': still here\n\n');
        else if (follower.state === 'blocked' && ++follower.heartbeats_missed >= patience) follower.response.destroy();
      }
    }
  }

  const listening = onChanges(() => {
    pages.clear();
    for (const follower of followers) if (follower.state === 'idle') makeReady(follower);
  });
  const beating = beat().catch((error: unknown) => {
    if (!closing.signal.aborted) throw error;
  });

  return {
    page: ({ after, limit, feed: of }) => {
      const { changes, ...rest } = feed.after(cursorOf(after, feed), limitOf(limit), feedOf(of));
      return `{"changes":[${changes.map(changeJson).join(',')}],${JSON.stringify(rest).slice(1)}`;
    },
    follow: ({ after, feed: of }, response) => {
      if (followers.size >= room.streams) {
        room.streamRefused?.();
        throw new CataloguedError('too-many-followers', `${room.streams} clients already follow the feed`, {
          exitCode: exitCodes.retryLater,
          hint: 'close connections that nobody reads, or ask for pages of JSON',
        });
      }
      const follower: Follower = { response, after: cursorOf(after, feed), state: 'idle', heartbeats_missed: 0 };
      const { feed: own } = feed.after(follower.after, 1, feedOf(of));
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
        connection: 'close',
      });
      response.on('close', () => followers.delete(follower));
      response.on('error', () => followers.delete(follower));
      followers.add(follower);
      // Not a change, so it has no id. The client sends the feed along with the cursor.
      response.write(`retry: 3000\n\nevent: feed\ndata: ${JSON.stringify({ feed: own })}\n\n`);
      makeReady(follower);
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort(new Error('the daemon is stopping'));
      listening[Symbol.dispose]();
      const open = [...followers];
      followers.clear();
      const closed = open.map(({ response }) => new Promise((resolve) => response.once('close', resolve)));
      for (const { response, state } of open)
        if (state === 'blocked') response.destroy();
        else response.end();
      const grace = new AbortController();
      await Promise.race([Promise.all(closed), clock.sleep(graceMs, grace.signal).catch(() => undefined)]);
      grace.abort();
      for (const { response } of open) response.destroy();
      await beating;
    },
  };
}

function cursorOf(after: unknown, feed: ChangeFeed): number {
  if (after === undefined) return feed.bounds().floor;
  return whole(after, { code: 'bad-cursor', what: 'after', hint: 'the seq of the last change seen; 0 for none' });
}

function feedOf(asked: unknown): string | null {
  if (asked === undefined) return null;
  if (typeof asked === 'string' && asked !== '') return asked;
  throw bad(asked, { code: 'bad-cursor', what: 'feed', hint: 'the feed id that came with the cursor, unchanged' });
}

function limitOf(limit: unknown): number {
  const refusal = { code: 'bad-limit', what: 'limit', hint: `a number from 1 to ${longestPage}` };
  const found = limit === undefined ? usualPage : whole(limit, refusal);
  if (found < 1 || found > longestPage) throw bad(limit, refusal);
  return found;
}

interface Refusal {
  readonly code: string;
  readonly what: string;
  readonly hint: string;
}

function whole(value: unknown, refusal: Refusal): number {
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) throw bad(value, refusal);
  return Number(value);
}

function bad(value: unknown, { code, what, hint }: Refusal): CataloguedError {
  const shown = JSON.stringify(value).slice(0, 60);
  return new CataloguedError(code, `${what} is ${shown}`, { exitCode: exitCodes.usage, hint });
}
