import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { startPublishing } from '../../src/daemon/publishing.ts';
import { connectPostgres } from '../../src/database/connect.ts';
import { conditionsOf } from '../../src/domain/conditions/decide.ts';
import { healthy } from '../domain/healthy-facts.ts';
import { needs } from '../fakes/needs.ts';
import { type PublishedStage, publishedStage } from './stage.ts';

/** A way to a PostgreSQL that can swallow everything: it accepts, and hands on nothing in either direction. */
interface Way extends AsyncDisposable {
  readonly url: string;
  swallow(): void;
  handOn(): void;
}

async function wayTo(directory: string): Promise<Way> {
  const sockets = new Set<Socket>();
  const held = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    return socket;
  };
  let swallows = false;
  const server: Server = createServer((incoming) => {
    const near = held(incoming);
    if (swallows) return void near.pause();
    const far = held(connect(`${directory}/.s.PGSQL.5432`));
    near.on('close', () => far.destroy()).pipe(far);
    far.on('close', () => near.destroy()).pipe(near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  return {
    url: `postgres://owner@127.0.0.1:${port}/postgres`,
    swallow: () => {
      swallows = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    handOn: () => {
      swallows = false;
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('a PostgreSQL that swallows packets', needs('postgres'), () => {
  const stack = new AsyncDisposableStack();
  let at: PublishedStage;
  beforeAll(async () => {
    at = stack.use(await publishedStage(2));
  });
  afterAll(() => stack.disposeAsync());

  it('is told of within ten seconds, and no more when it answers', { timeout: 60_000 }, async () => {
    await using way = await wayTo(at.server.directory);
    const sync = { ...at.harness.daemon.sync, clock: systemClock };
    await using publishing = await startPublishing({ ...at.harness.daemon, sync }, createSecret(way.url));
    const kinds = (now: number) =>
      conditionsOf({ ...healthy, at: now, database: publishing?.status() ?? null }).map(({ code }) => code);
    await expect.poll(() => publishing?.status().state, { timeout: 20_000 }).not.toBeNull();
    await expect.poll(() => publishing?.status().failing_since).toBeNull();
    way.swallow();
    const swallowed_at = systemClock.now();
    // Found in time to be a condition ten seconds after the last answer.
    await expect.poll(() => publishing?.status().failing_since, { timeout: 15_000 }).not.toBeNull();
    const found_after = systemClock.now() - swallowed_at;
    const { failing_since, failure } = publishing?.status() ?? {};
    expect(failing_since).toBeLessThanOrEqual(swallowed_at);
    expect(found_after).toBeLessThan(10_000);
    expect(failure).toContain('cannot be reached');
    expect(kinds(swallowed_at + 10_000)).toEqual(['database-behind']);
    way.handOn();
    await expect.poll(() => kinds(systemClock.now() + 60_000), { timeout: 30_000 }).toEqual([]);
  });

  it('is told of within ten seconds by a command, which it has answered nothing', { timeout: 30_000 }, async () => {
    await using way = await wayTo(at.server.directory);
    way.swallow();
    const began = performance.now();
    await using postgres = await connectPostgres({ url: way.url, schema: 'catalogued' });
    await expect(postgres.query('SELECT 1')).rejects.toMatchObject({ code: 'database-away' });
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
