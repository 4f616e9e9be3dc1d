import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { AnswerCache } from '../../src/daemon/reading/kept-answers.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const call = { name: 'search', asked: [{ text: 'golden' }] } as const;

/** A file that another connection writes, and a thread that answers with how often it was asked. */
function keptOver() {
  const directory = temporaryDirectory();
  const writer = new Database(`${directory.path}/mirror.db`);
  writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n)');
  const reader = new Database(writer.name, { readonly: true });
  let seconds = 1000;
  let asked = 0;
  const kept = new AnswerCache(reader, () => 1000 * seconds + 999);
  const ask = async () => {
    asked += 1;
    const body = String(asked);
    await setImmediate();
    return { body, etag: body, at: seconds, holds_until: seconds + 60, matched: null };
  };
  return {
    answered: async () => {
      // A turn of the event loop of its own, as each request has.
      await setImmediate();
      const { body, at } = await kept.of(call, ask);
      return `${body} at ${at}`;
    },
    together: async () => (await Promise.all([kept.of(call, ask), kept.of(call, ask)])).map(({ body }) => String(body)),
    set: (to: number) => {
      seconds = to;
    },
    commit: () => writer.exec('INSERT INTO t VALUES (1)'),
    ask,
    kept,
    [Symbol.dispose]: () => {
      reader.close();
      writer.close();
      directory[Symbol.dispose]();
    },
  };
}

it('equal questions are answered once for as long as the clock does not change the answer', async () => {
  using world = keptOver();
  const { answered, together, set } = world;
  expect(await together()).toEqual(['1', '1']);
  set(1060);
  expect(await answered()).toBe('1 at 1060');
  set(1061);
  expect(await answered()).toBe('2 at 1061');
  set(1060);
  expect(await answered()).toBe('3 at 1060');
});

it('any commit to the mirror ends every kept answer, also one of a question under way', async () => {
  using world = keptOver();
  expect(await world.answered()).toBe('1 at 1000');
  world.commit();
  expect(await world.answered()).toBe('2 at 1000');
  const other = { ...call, asked: [{}] };
  const gate = Promise.withResolvers<void>();
  const before = world.kept.of(other, async () => {
    const answer = await world.ask();
    await gate.promise;
    return answer;
  });
  world.commit();
  await setImmediate();
  const after = world.kept.of(other, world.ask);
  gate.resolve();
  expect([String((await before).body), String((await after).body)]).toEqual(['3', '4']);
  await setImmediate();
  expect(String((await world.kept.of(other, world.ask)).body)).toBe('4');
});

it('a question that fails is asked again', async () => {
  using world = keptOver();
  await expect(world.kept.of(call, async () => Promise.reject(new Error('closed')))).rejects.toThrow('closed');
  expect(await world.answered()).toBe('1 at 1000');
});
