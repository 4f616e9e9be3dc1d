import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** Ports that Linux gives to nobody by itself: any other one may be taken by a connection before somebody listens there. */
const [first, end] = [20_000, 32_768];
const given = new Set<number>();

/** Returns a port where nobody listens, each time another one: for an address that stands in a configuration first. */
export async function freePort(): Promise<number> {
  const port = randomInt(first, end);
  if (given.has(port)) return freePort();
  given.add(port);
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    await new Promise((resolve) => server.close(resolve));
    return port;
  } catch {
    return freePort();
  }
}
