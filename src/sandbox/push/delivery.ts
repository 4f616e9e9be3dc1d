import { request as plain } from 'node:http';
import { request as secure } from 'node:https';
import type { Clock } from '../../kernel/clock.ts';

/** One body to post to one address. */
export interface OutgoingDelivery {
  readonly body: string;
  /** Returns the address, called before each attempt. Null: there is none any more, and the attempt has failed. */
  target(): string | null;
  /** The waits before the second and each further attempt, in milliseconds. */
  readonly waits: readonly number[];
}

/** The result of a delivery: answered with 200, given up, or ended early because the sandbox stopped. */
export type SendOutcome = 'delivered' | 'failed' | 'ended';

/** Posts notifications, and retries them. */
export interface NotificationSender extends AsyncDisposable {
  /**
   * Sends a delivery. First attempts in the same line are made one after another. A delivery that waits for its next
   * attempt does not hold up those behind it.
   */
  send(line: string, outgoing: OutgoingDelivery): Promise<SendOutcome>;
  /** Runs a task after a delay, unless the sandbox stops first. Stopping waits for a task that has begun. */
  after(ms: number, task: () => void | Promise<void>): void;
  /** Returns the number of deliveries being posted or in line, without those that wait for another attempt. */
  inFlight(): number;
}

export function delivery(clock: Clock, timeout_ms: number, post: Post): NotificationSender {
  const stop = new AbortController();
  const work = new Set<Promise<unknown>>();
  const lines = new Map<string, Promise<boolean>>();
  let inFlight = 0;

  /** Makes one attempt. Only status 200 counts as delivered. */
  async function attempt({ target, body }: OutgoingDelivery): Promise<boolean> {
    const url = target();
    if (url === null) return false;
    using deadline = clock.deadline(timeout_ms, stop.signal);
    try {
      return (await post(url, body, deadline.signal)) === 200;
    } catch {
      stop.signal.throwIfAborted();
      return false;
    }
  }

  async function counted(posted: Promise<boolean>): Promise<boolean> {
    inFlight += 1;
    try {
      return await posted;
    } finally {
      inFlight -= 1;
    }
  }

  function firstAttempt(line: string, outgoing: OutgoingDelivery): Promise<boolean> {
    const before = lines.get(line);
    const first = counted(before === undefined ? attempt(outgoing) : before.then(() => attempt(outgoing)));
    lines.set(line, first);
    return first.finally(() => {
      if (lines.get(line) === first) lines.delete(line);
    });
  }

  async function persist(line: string, outgoing: OutgoingDelivery): Promise<SendOutcome> {
    let done = await firstAttempt(line, outgoing);
    for (const wait of outgoing.waits) {
      if (done) break;
      await clock.sleep(wait, stop.signal);
      done = await counted(attempt(outgoing));
    }
    return done ? 'delivered' : 'failed';
  }

  /** Registers a task, so that stopping waits for it. An error caused by the stop becomes `ended`. */
  function untilTheEnd<Result>(task: Promise<Result>): Promise<Result | 'ended'> {
    const running = task
      .catch((error: unknown): 'ended' => {
        if (stop.signal.aborted) return 'ended';
        throw error;
      })
      .finally(() => work.delete(running));
    work.add(running);
    return running;
  }

  return {
    send: (line, outgoing) => untilTheEnd(persist(line, outgoing)),
    after: (ms, task) => {
      const wait = ms === 0 ? Promise.resolve() : clock.sleep(ms, stop.signal);
      void untilTheEnd(wait.then(task));
    },
    inFlight: () => inFlight,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the sandbox has ended'));
      await Promise.allSettled(work);
    },
  };
}

const mostBytes = 64 * 1024;

/** Posts a body to an address and returns the status. Rejects if no status came. */
export type Post = (url: string, body: string, signal: AbortSignal) => Promise<number>;

/**
 * Posts JSON once, over a new connection, and returns the status. Discards the body of the answer and follows no
 * redirect. Rejects if no status came: the connection failed, or the signal aborted.
 */
export async function postJson(url: string, body: string, signal: AbortSignal): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const send = url.startsWith('https:') ? secure : plain;
  let status: number | null = null;
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'catalogued-sandbox',
  };
  const request = send(url, { method: 'POST', agent: false, signal, headers }, (response) => {
    status = response.statusCode ?? null;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > mostBytes) request.destroy();
    });
    response.on('error', () => undefined);
    response.on('close', () => resolve(response.statusCode ?? 0));
  });
  // Errors after the status no longer matter.
  request.on('error', (error) => (status === null ? reject(error) : resolve(status)));
  request.end(body);
  return promise;
}
