import { Agent, request } from 'node:http';

export interface Posted {
  /** Numbers of the deliveries that were answered 200. */
  readonly acknowledged: Set<number>;
  /** Answers in the order in which they came: 0 is none at all. */
  readonly answers: number[];
}

export interface Posters {
  readonly posted: Posted;
  /** Resolves when each has ended: told to stop, done, or the receiver is gone. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** Several senders, each posting one delivery after another. Numbers go on across receivers: `next` gives them. */
export function startPosters(
  { port, path }: { port: number; path: string },
  { posters, each, next, posted }: { posters: number; each: number; next: () => number; posted: Posted },
): Posters {
  const agent = new Agent({ keepAlive: true, maxSockets: posters });
  let stopped = false;
  const run = async () => {
    for (let n = 0; n < each && !stopped; n += 1) {
      const id = next();
      const status = await post(agent, port, path, id);
      posted.answers.push(status);
      if (status === 200) posted.acknowledged.add(id);
      if (status === 0) return;
    }
  };
  const ended = Promise.all(Array.from({ length: posters }, run)).then(() => agent.destroy());
  return {
    posted,
    ended,
    stop: () => {
      stopped = true;
    },
  };
}

function post(agent: Agent, port: number, path: string, id: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const body = JSON.stringify({ id, padding: 'x'.repeat((id * 37) % 600) });
  const call = request({ agent, port, host: '127.0.0.1', path, method: 'POST' }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode ?? 0));
    response.on('error', () => resolve(0));
  });
  call.on('error', () => resolve(0)).end(body);
  return promise;
}
