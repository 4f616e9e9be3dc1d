import { Agent, request } from 'node:http';

/** What senders have posted to one inbox, across all receivers that were started on it. */
export interface Posted {
  /** Numbers of the deliveries that were answered 200. */
  readonly acknowledged: Set<number>;
  /** Answers in the order in which they came: 0 is none at all. */
  readonly answers: number[];
  /** Milliseconds of each. */
  readonly times?: number[];
}

/** Posts from several senders, one delivery after another each; resolves when each has sent its share, or the receiver is gone. */
export async function postDeliveries(
  { port, path }: { port: number; path: string },
  { posters, each, posted }: { posters: number; each: number; posted: Posted },
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: posters });
  let next = posted.answers.length;
  const run = async () => {
    for (let n = 0; n < each; n += 1) {
      next += 1;
      const id = next;
      const began = performance.now();
      const status = await post(agent, port, path, id);
      posted.times?.push(performance.now() - began);
      posted.answers.push(status);
      if (status === 200) posted.acknowledged.add(id);
      if (status === 0) return;
    }
  };
  await Promise.all(Array.from({ length: posters }, run));
  agent.destroy();
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
