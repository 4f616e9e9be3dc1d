import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openWire } from './wire.ts';

const never = new AbortController().signal;

/** Sends three calls at once and returns in which order they were sent, and their answers handed on. */
async function story(seed: number): Promise<string[]> {
  using wire = openWire(seed);
  const seen: string[] = [];
  const called = ['a', 'b', 'c'].map((name) =>
    wire
      .call(async () => {
        seen.push(`${name} is sent`);
        return name;
      }, never)
      .then((answer) => seen.push(`${answer} came`)),
  );
  while (seen.length < 6) {
    wire.release();
    await setImmediate();
  }
  await Promise.all(called);
  return seen;
}

describe('the network of a seed', () => {
  it('sends and hands on in an order that the seed draws', async () => {
    const stories = await Promise.all(Array.from({ length: 40 }, async (_, seed) => String(await story(seed))));
    expect(String(await story(7))).toBe(stories[7]);
    const sentLast = stories.map((told) => told.lastIndexOf('a is sent') > told.indexOf('came'));
    expect(new Set(sentLast)).toEqual(new Set([true, false]));
    expect(new Set(stories.map((told) => told.slice(0, 1)))).toEqual(new Set(['a', 'b', 'c']));
    expect(new Set(stories.map((told) => told.at(-6)))).toEqual(new Set(['a', 'b', 'c']));
  });

  it('counts a call until its answer is there, and lets all of them go that end', async () => {
    using wire = openWire(1);
    const ending = new AbortController();
    const asked = Promise.withResolvers<string>();
    const first = wire.call(() => asked.promise, never);
    expect([wire.calls(), wire.release()]).toEqual([0, true]);
    await setImmediate();
    expect([wire.calls(), wire.release()]).toEqual([1, false]);
    asked.resolve('answer');
    await setImmediate();
    expect([wire.calls(), wire.release()]).toEqual([0, true]);
    expect(await first).toBe('answer');

    const second = wire.call(() => Promise.reject(new Error('gone')), ending.signal);
    ending.abort();
    await expect(second).rejects.toThrow('gone');
    expect([wire.calls(), wire.release()]).toEqual([0, false]);
  });

  it('is busy while a delivery is under way, and while one end of a connection has not noticed that the other is closed', async () => {
    using wire = openWire(1);
    const answer = Promise.withResolvers<number>();
    const posted = wire.post(() => answer.promise, never);
    wire.release();
    await setImmediate();
    expect([wire.calls(), wire.isBusy()]).toEqual([0, true]);
    answer.resolve(200);
    await setImmediate();
    expect([wire.isBusy(), wire.release()]).toEqual([false, true]);
    expect(await posted).toBe(200);

    const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    expect(wire.isBusy()).toBe(true);
    await once(server, 'connection');
    expect(wire.isBusy()).toBe(false);
    client.destroy();
    await once(client, 'close');
    expect(wire.isBusy()).toBe(true);
    while (wire.isBusy()) await setImmediate();
    server.close();
  });
});
