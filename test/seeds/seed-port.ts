import { createServer } from 'node:net';

/**
 * Takes the port of a seed, below those that systems give out: an address is part of what is stored, so two runs of a seed
 * need the same. Where somebody else has it, the next free one.
 */
export async function seedPort(seed: number): Promise<{ readonly port: number }> {
  for (let port = 10_000 + (seed % 20_000); ; port += 1) if (await isFree(port)) return { port };
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return promise;
}
