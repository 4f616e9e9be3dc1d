import { connect, createServer } from 'node:net';

/*
 * Stands before a port and holds everything that is sent to it for so many milliseconds: a service with a latency, in a
 * process of its own. Tells its parent where it listens.
 */
const [port = '0', ms = '0'] = process.argv.slice(2);

const server = createServer((client) => {
  const service = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  client.setNoDelay(true);
  client.on('data', (chunk) => setTimeout(() => service.write(chunk), Number(ms)));
  service.on('data', (chunk) => client.write(chunk));
  for (const [one, other] of [
    [client, service],
    [service, client],
  ] as const) {
    one.on('close', () => other.destroy());
    one.on('error', () => other.destroy());
  }
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : 0);
});
