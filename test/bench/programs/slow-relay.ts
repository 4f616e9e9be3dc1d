import { connect, createServer } from 'node:net';
import { performance } from 'node:perf_hooks';

/*
 * Stands before a port and holds everything that is sent to it for so many milliseconds: a service with a latency, in a
 * process of its own. Tells its parent where it listens, and when asked, how long each call since the last question took,
 * from its first byte in to its last byte out: what the service's latency was under that load.
 */
const [port = '0', ms = '0'] = process.argv.slice(2);

interface Call {
  readonly began: number;
  last: number;
}

let calls: Call[] = [];

const server = createServer((client) => {
  let call: Call | null = null;
  const service = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  client.setNoDelay(true);
  client.on('data', (chunk) => {
    call = { began: performance.now(), last: 0 };
    calls.push(call);
    setTimeout(() => service.write(chunk), Number(ms));
  });
  service.on('data', (chunk) => {
    client.write(chunk);
    if (call !== null) call.last = performance.now();
  });
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
process.on('message', () => {
  process.send?.(calls.filter(({ last }) => last > 0).map(({ began, last }) => last - began));
  calls = [];
});
