import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CataloguedError } from '../../src/errors.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { openForWriting, refuseUnusable } from '../../src/sqlite/database-file.ts';
import { lookAt } from '../../src/sqlite/look.ts';
import { needs } from '../fakes/needs.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { holds } from './corpus.ts';

/** The file that a version has left. */
function left(path: string, version: number): Buffer {
  const db = new Database(path);
  db.exec(readFileSync(new URL(`../fixtures/mirrors/contract-${version}.sql`, import.meta.url), 'utf8'));
  db.close();
  return readFileSync(path);
}

const spoiled = fc.record({
  cut: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  bytes: fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), by: fc.nat(255) }), { maxLength: 40 }),
});

describe('a mirror of an older version', needs('time'), () => {
  it.each([1, 2])(
    'of contract %i, with bytes changed or the end cut off, is brought up to date, or refused in words',
    async (version) => {
      using directory = temporaryDirectory();
      const path = join(directory.path, 'mirror.db');
      const whole = left(path, version);
      const ends = { opened: 0, refused: 0 };
      await holds(
        `mirror-of-contract-${version}`,
        spoiled,
        ({ cut, bytes }) => {
          for (const side of ['-wal', '-shm']) rmSync(`${path}${side}`, { force: true });
          const file = Buffer.from(whole.subarray(0, Math.floor(cut * whole.length)));
          for (const { at, by } of bytes) if (file.length > 0) file[Math.floor(at * (file.length - 1))] = by;
          writeFileSync(path, file);
          try {
            refuseUnusable(path, mirrorFile, lookAt(path, mirrorFile, 'whole'), ['a backup']);
            openForWriting(path, mirrorFile).close();
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
});
