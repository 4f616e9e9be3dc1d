import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CataloguedError } from '../../src/kernel/errors.ts';
import { openForWriting, refuseUnusable } from '../../src/kernel/sqlite/database-file.ts';
import { lookAt } from '../../src/kernel/sqlite/look.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { needs } from '../fakes/needs.ts';
import { nextVersion } from '../fakes/next-version.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { holds } from './corpus.ts';

/** Returns the file that this version has left, with products in it. */
function left(): Buffer {
  using test = testMirror();
  putProducts(
    test,
    Array.from({ length: 40 }, (_, index) => productOf(index + 1)),
  );
  const db = new Database(test.path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return readFileSync(test.path);
}

const spoiled = fc.record({
  cut: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  bytes: fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), by: fc.nat(255) }), { maxLength: 40 }),
});

it(
  'a mirror with bytes changed or the end cut off is brought up to date by the next version, or refused in words',
  needs('time'),
  async () => {
    using directory = temporaryDirectory();
    using next = nextVersion();
    const path = join(directory.path, 'mirror.db');
    const whole = left();
    const ends = { opened: 0, refused: 0 };
    await holds(
      'mirror-before-upgrade',
      spoiled,
      ({ cut, bytes }) => {
        for (const side of ['-wal', '-shm']) rmSync(`${path}${side}`, { force: true });
        const file = Buffer.from(whole.subarray(0, Math.floor(cut * whole.length)));
        for (const { at, by } of bytes) if (file.length > 0) file[Math.floor(at * (file.length - 1))] = by;
        writeFileSync(path, file);
        try {
          refuseUnusable(path, mirrorFile, lookAt(path, mirrorFile, 'whole'), ['a backup']);
          openForWriting(path, next.mirror).close();
          ends.opened += 1;
        } catch (error) {
          ends.refused += 1;
          expect(error).toBeInstanceOf(CataloguedError);
          expect((error as CataloguedError).exitCode).toBe(65);
        }
      },
      300,
    );
    expect(Math.min(ends.opened, ends.refused)).toBeGreaterThan(5);
  },
);

it('a counterexample is kept in its smallest form, and asked first from then on', async () => {
  using directory = temporaryDirectory();
  const asked: number[] = [];
  const below = (limit: number) => (input: number) => {
    asked.push(input);
    expect(input).toBeLessThan(limit);
  };
  await expect(holds('numbers', fc.nat(1000), below(10), 100, directory.path)).rejects.toThrow('kept in');
  expect(JSON.parse(readFileSync(join(directory.path, 'numbers.json'), 'utf8'))).toEqual([10]);
  asked.length = 0;
  await holds('numbers', fc.nat(1000), below(1001), 5, directory.path);
  expect(asked).toHaveLength(6);
  expect(asked[0]).toBe(10);
});
