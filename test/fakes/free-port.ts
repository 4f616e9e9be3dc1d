import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The kernel may offer a port again that nobody has bound yet. */
const given = new Set<number>();

/** A port that was free a moment ago, each time another one: for an address that is part of a configuration before anybody listens there. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  if (given.has(port)) return freePort();
  given.add(port);
  return port;
}
