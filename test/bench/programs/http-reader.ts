import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';

/*
 * Asks for paths over so many connections of a socket, one after another on each, for so many milliseconds, and sends its
 * parent how long each answer took. With 0 milliseconds each connection asks once and reads the beginning
 * of its answer only.
 */
const [socketPath = '', connections = '1', ms = '1000', ...paths] = process.argv.slice(2);
const times: number[] = [];
let refused = 0;
let asked = 0;

function request(): string {
  asked += 1;
  return `GET ${paths[asked % paths.length]} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

function run(until: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(socketPath);
  let [sent, read, wanted] = [0, 0, 0];
  const send = () => {
    [sent, read, wanted] = [performance.now(), 0, 0];
    socket.write(request());
  };
  socket.on('connect', send);
  socket.on('error', reject);
  socket.on('data', (chunk: Buffer) => {
    if (wanted === 0) {
      const head = chunk.toString('latin1');
      if (!head.startsWith('HTTP/1.1 200')) refused += 1;
      wanted = head.indexOf('\r\n\r\n') + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    }
    read += chunk.length;
    if (read < wanted) return;
    times.push(performance.now() - sent);
    if (performance.now() < until) return send();
    socket.destroy();
    resolve();
  });
  return promise;
}

function askAndReadOnce(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(socketPath, () => socket.write(request()));
  // The daemon cuts it when too much waits.
  socket.on('error', () => resolve());
  socket.once('data', () => {
    socket.pause();
    resolve();
  });
  return promise;
}

if (Number(ms) === 0) {
  // One after another: the slow reading is measured, not the burst of requests.
  for (let index = 0; index < Number(connections); index += 1) await askAndReadOnce();
  process.send?.('asked');
} else {
  const until = performance.now() + Number(ms);
  await Promise.all(Array.from({ length: Number(connections) }, () => run(until)));
  process.send?.({ times, refused }, () => process.disconnect?.());
}
