import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';

/*
 * So many shoppers, each with a connection that is open before anything is measured: all ask at once, and the process
 * that started this one is sent how long each answer took, in milliseconds, and what it said. A process of its own, so
 * that it does not take the daemon's time.
 */
const [socketPath = '', count = '1'] = process.argv.slice(2);

interface Shopper {
  readonly socket: Socket;
  answer: string;
  done: () => void;
}

const shoppers: Shopper[] = [];
for (let index = 0; index < Number(count); index += 1) {
  const socket = await connected();
  const shopper: Shopper = { socket, answer: '', done: () => {} };
  // A shopper whose connection breaks has no answer.
  socket.on('error', () => {});
  socket.on('close', () => shopper.done());
  socket.on('data', (chunk: Buffer) => {
    shopper.answer += chunk.toString('latin1');
    if (isWhole(shopper.answer)) shopper.done();
  });
  shoppers.push(shopper);
}

/** More than the backlog at once are turned away: those come again a little later. */
async function connected(): Promise<Socket> {
  for (;;) {
    const socket = connect(socketPath);
    try {
      await once(socket, 'connect');
      return socket;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      await setTimeout(5);
    }
  }
}

process.on('message', (bodies: string[]) => {
  // No body: only what it costs to be answered at all.
  const requests = bodies.map((body) =>
    body === ''
      ? 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
      : `POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const began = performance.now();
  const asked = shoppers.map((shopper, index) => {
    const { promise, resolve } = Promise.withResolvers<[ms: number, verdict: string]>();
    shopper.answer = '';
    const sent = performance.now();
    shopper.done = () => resolve([performance.now() - sent, verdictOf(shopper.answer)]);
    shopper.socket.write(requests[index % requests.length] ?? '');
    if (shopper.socket.destroyed) shopper.done();
    return promise;
  });
  Promise.all(asked).then((answers) => {
    process.send?.({
      times: answers.map(([ms]) => ms),
      verdicts: Object.fromEntries(
        Map.groupBy(answers, ([, verdict]) => verdict)
          .entries()
          .map(([name, all]) => [name, all.length]),
      ),
      ms: performance.now() - began,
    });
  });
});
process.send?.('ready');

function isWhole(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(answer.slice(0, Math.max(head, 0)))?.[1];
  return length !== undefined && answer.length >= head + 4 + Number(length);
}

function verdictOf(answer: string): string {
  return /"verdict":"(\w+)"/.exec(answer)?.[1] ?? (answer.slice(0, 40) || 'unknown');
}
