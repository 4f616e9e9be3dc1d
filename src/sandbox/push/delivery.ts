import type { Clock } from '../../clock.ts';
import type { Post } from './post.ts';

/** One body for one address. */
export interface OutgoingDelivery {
  readonly body: string;
  /** Where to, asked before every attempt; null: nowhere any more, and the attempt has failed. */
  target(): string | null;
  /** The waits before the second attempt and those after it. */
  readonly waits: readonly number[];
}

/** What became of a delivery: answered with 200, given up, or the sandbox ended before. */
export type SendOutcome = 'delivered' | 'failed' | 'ended';

/** Posts, and posts again. */
export interface NotificationSender extends AsyncDisposable {
  /**
   * Sends a delivery behind those that are in the same line, as far as first attempts go: who waits for another one is
   * overtaken.
   */
  send(line: string, outgoing: OutgoingDelivery): Promise<SendOutcome>;
  /** Does something after a time, unless the end comes first, and sees to it that the end waits for it. */
  after(ms: number, task: () => void | Promise<void>): void;
  /** Deliveries that are being posted, or in line; not those that wait for another attempt. */
  inFlight(): number;
}

export function delivery(clock: Clock, timeout_ms: number, post: Post): NotificationSender {
  const stop = new AbortController();
  const work = new Set<Promise<unknown>>();
  const lines = new Map<string, Promise<boolean>>();
  let inFlight = 0;

  /** Only 200 counts. */
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

  /** The end waits for it, and what the end interrupts is no fault. */
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
