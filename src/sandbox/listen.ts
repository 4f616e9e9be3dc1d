import type { Server } from 'node:http';
import { CataloguedError, exitCodes } from '../errors.ts';

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
