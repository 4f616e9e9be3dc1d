import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { ConnectionRoom, type RoomOptions } from '../../src/kernel/http/connection-room.ts';

/** A listener with a room. `open` connects from an address of this machine, and returns both ends. */
async function harness(options: RoomOptions) {
  const displaced: string[] = [];
  const room = new ConnectionRoom({ ...options, displaced: (peer) => void displaced.push(peer) });
  const arrived: ((socket: Socket) => void)[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    room.opened(socket);
    arrived.shift()?.(socket);
  });
  await once(server.listen(0, '0.0.0.0'), 'listening');
  const { port } = server.address() as { port: number };
  const open = async (host = '127.0.0.1') => {
    const { promise, resolve } = Promise.withResolvers<Socket>();
    arrived.push(resolve);
    const near = connect({ port, host: '127.0.0.1', localAddress: host }).on('error', () => undefined);
    const far = await promise;
    return { far, closed: near.closed ? Promise.resolve([]) : once(near, 'close'), isOpen: () => !far.destroyed };
  };
  return {
    room,
    open,
    displaced,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const limits = { connections: 6, strangers: 2 };

it('strangers displace strangers, of the address that has the most, the oldest first', async () => {
  await using at = await harness({ limits, known: 'for its connection' });
  const shopper = await at.open('127.0.0.2');
  const flood = [await at.open(), await at.open(), await at.open(), await at.open()];
  expect(shopper.isOpen()).toBe(true);
  expect(flood.map(({ isOpen }) => isOpen())).toEqual([false, false, false, true]);
  expect(at.displaced).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
});

it('a connection that was admitted once is no stranger any more', async () => {
  await using at = await harness({ limits, known: 'for its connection' });
  const known = await at.open();
  at.room.admitted(known.far)[Symbol.dispose]();
  for (let each = 0; each < 10; each += 1) await at.open();
  expect(known.isOpen()).toBe(true);
  expect(at.displaced).toHaveLength(8);
});

it('a connection that is known for its request alone is a stranger after it', async () => {
  await using at = await harness({ limits: { connections: 2, strangers: 2 }, known: 'for its request' });
  const delivering = await at.open();
  const request = at.room.admitted(delivering.far);
  for (let each = 0; each < 4; each += 1) await at.open();
  expect(delivering.isOpen()).toBe(true);
  request[Symbol.dispose]();
  for (let each = 0; each < 2; each += 1) await at.open();
  expect(delivering.isOpen()).toBe(false);
});
