import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from './listen.ts';

/** The port on which the sandbox answers. */
export interface SandboxDoor extends AsyncDisposable {
  readonly url: string;
  /** `no`: closes the port, so that connections are refused. `yes`: opens it again with the same number. */
  setReachable(reachable: 'yes' | 'no'): Promise<void>;
}

/** Opens a port; 0 takes a free one. Throws (74) if the port is taken. */
export async function openDoor(listener: RequestListener, wanted: number, host: string): Promise<SandboxDoor> {
  const server = createServer(listener);
  server.keepAliveTimeout = 60_000;
  await listen(server, wanted, host);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    setReachable: async (reachable) => {
      if ((reachable === 'yes') === server.listening) return;
      if (reachable === 'yes') await listen(server, port, host);
      else await close(server);
    },
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await close(server);
    },
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
