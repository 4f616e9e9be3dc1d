import { get, type IncomingMessage } from 'node:http';

export interface ServerEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: unknown;
}

/** What a browser's EventSource does, over a unix socket: it keeps what came, and can be waited on. */
export interface EventSource {
  readonly status: number;
  /** Of any other answer than 200. */
  readonly refusal: Record<string, unknown> | null;
  readonly events: readonly ServerEvent[];
  /** The feed that it is told of first: not among the events. */
  feed(): string | null;
  /** Comments, without the colon. */
  readonly comments: readonly string[];
  readonly response: IncomingMessage;
  /** Resolves when so many events are there. */
  reached(count: number): Promise<void>;
  heard(comment: string): Promise<void>;
  readonly ended: Promise<void>;
  close(): void;
}

export async function eventSource(
  socketPath: string,
  path: string,
  { headers = {}, reads = 'at once' as 'at once' | 'later' } = {},
): Promise<EventSource> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const call = get({ socketPath, path, headers: { accept: 'text/event-stream', ...headers } }, resolve);
  call.on('error', reject);
  const response = await promise;
  call.removeListener('error', reject).on('error', () => undefined);
  response.on('error', () => undefined);
  const events: ServerEvent[] = [];
  const comments: string[] = [];
  const waiting = new Set<() => void>();
  const over = Promise.withResolvers<void>();
  let rest = '';
  let feed: string | null = null;
  if (response.statusCode !== 200) {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    rest = text;
    over.resolve();
  } else {
    response.on('close', over.resolve);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) take(block);
      for (const look of waiting) look();
    });
    if (reads === 'later') response.pause();
  }

  function take(block: string): void {
    if (block.startsWith(':')) return void comments.push(block.slice(1).trim());
    const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    const data = fields.get('data');
    if (fields.get('event') === 'feed') {
      feed = (JSON.parse(data ?? '{}') as { feed: string | null }).feed;
      return;
    }
    if (data !== undefined)
      events.push({ id: fields.get('id') ?? null, event: fields.get('event') ?? 'message', data: JSON.parse(data) });
  }

  function until(done: () => boolean): Promise<void> {
    const { promise: reached, resolve: found, reject: lost } = Promise.withResolvers<void>();
    const look = () => {
      if (done()) found();
    };
    waiting.add(look);
    look();
    over.promise.then(() => lost(new Error(`it ended after ${events.length} events`)));
    return reached.finally(() => waiting.delete(look));
  }

  return {
    status: response.statusCode ?? 0,
    refusal: response.statusCode === 200 ? null : (JSON.parse(rest) as Record<string, unknown>),
    events,
    feed: () => feed,
    comments,
    response,
    reached: (count) => until(() => events.length >= count),
    heard: (comment) => until(() => comments.includes(comment)),
    ended: over.promise,
    close: () => call.destroy(),
  };
}
