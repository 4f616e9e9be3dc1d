import type { IncomingMessage, Server } from 'node:http';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';

/** Opens a server's port; 0 takes a free one. Rejects (74) if the port is taken. */
export function listen(server: Server, port: number, host: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = (error: NodeJS.ErrnoException) => {
    const reason = error.code === 'EADDRINUSE' ? 'it is in use' : (error.code ?? error.message);
    reject(
      new CataloguedError('sandbox-listen', `the sandbox cannot listen on ${host}:${port}: ${reason}`, {
        exitCode: error.code === 'EACCES' ? exitCodes.permission : exitCodes.io,
        hint: 'name another port with --port, or stop the program that holds it',
      }),
    );
  };
  server.once('error', failed);
  server.listen(port, host, () => {
    server.off('error', failed);
    resolve();
  });
  return promise;
}

const mostBytes = 4 * 1024 * 1024;

/** Returns the whole body as text. A body of more than 4 MiB ends the connection. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
