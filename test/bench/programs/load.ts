import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

/*
 * Posts over so many connections for so many milliseconds, one delivery after another on each, and sends its parent
 * how long each took, in milliseconds. A process of its own, so that it does not take the receiver's time.
 */
const [port = '0', path = '/', connections = '1', ms = '1000'] = process.argv.slice(2);
const body = JSON.stringify({ subscription_id: 'norland', products: [], padding: 'x'.repeat(2150) });
const bytes = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const times: number[] = [];
let refused = 0;

function run(until: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const open = () => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
    let [sent, answer] = [0, ''];
    const send = () => {
      sent = performance.now();
      answer = '';
      socket.write(bytes);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1');
      if (!answer.includes('\r\n\r\n')) return;
      const now = performance.now();
      times.push(now - sent);
      if (!answer.startsWith('HTTP/1.1 200')) refused += 1;
      if (now < until && !/connection: close/i.test(answer)) {
        send();
        return;
      }
      // After so many requests on one connection the receiver wants another one.
      socket.destroy();
      if (now < until) open();
      else resolve();
    });
  };
  open();
  return promise;
}

const started = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, () => run(started + Number(ms))));
process.send?.({ times, refused, ms: performance.now() - started }, () => process.disconnect?.());
