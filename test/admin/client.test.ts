import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../../src/admin/client.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n';

describe('a daemon that is asked', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['before it answers', (socket) => socket.destroy()],
    ['in the middle of its answer', (socket) => socket.write(`${head}{"daemon"`, () => socket.destroy())],
  ])('and is killed %s is told from a bug: gone, and to be asked later', async (_, killed) => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'admin.sock');
    const daemon = createServer((socket) => socket.once('data', () => killed(socket)));
    await once(daemon.listen(path), 'listening');
    try {
      const answer = adminClient(`unix:${path}`, null).call({ operation: 'GET /v1/status' });
      await expect(answer).rejects.toMatchObject({ code: 'daemon-gone', exitCode: 75 });
    } finally {
      daemon.close();
    }
  });

  it('is asked on a connection of its own: a kept one may lead to a daemon that another one has followed', async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'admin.sock');
    const connections = new Set<Socket>();
    const daemon = createHttpServer(({ socket }, response) => {
      connections.add(socket);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await once(daemon.listen(path), 'listening');
    try {
      const client = adminClient(`unix:${path}`, null);
      for (let question = 0; question < 3; question += 1) await client.call({ operation: 'GET /v1/status' });
      expect(connections.size).toBe(3);
    } finally {
      daemon.close();
    }
  });
});
