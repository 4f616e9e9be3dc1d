import { constants } from 'node:os';
import { expect, it } from 'vitest';
import { faultOf, isDamage, isTransient, isWithoutRoom, writeTroubleOf } from '../../src/kernel/sqlite/fault.ts';

const coded = (code: unknown) => Object.assign(new Error('said by SQLite'), { code });

it.each([
  ['SQLITE_FULL', 'disk-full'],
  ['SQLITE_IOERR_SHMSIZE', 'disk-full'],
  ['SQLITE_BUSY_SNAPSHOT', 'locked'],
  ['SQLITE_PROTOCOL', 'contended'],
  ['SQLITE_IOERR_FSYNC', 'sync'],
  ['SQLITE_IOERR_DIR_FSYNC', 'sync'],
  ['SQLITE_IOERR_WRITE', 'io'],
  ['SQLITE_CORRUPT_INDEX', 'damaged'],
  ['SQLITE_NOTADB', 'not-a-database'],
  ['SQLITE_READONLY_DBMOVED', 'no-access'],
  ['SQLITE_CANTOPEN', 'no-access'],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', null],
  ['SQLITE_ERROR', null],
  ['EACCES', null],
  ['locked', null],
  [5, null],
])('SQLite calls a fault %s: %s', (code, fault) => {
  expect(faultOf(coded(code))).toBe(fault);
});

it('a write waits for space and for locks, and never for a disk that does not keep what it was given', () => {
  expect(writeTroubleOf(coded('SQLITE_FULL'))).toBe('disk-full');
  expect(writeTroubleOf(coded('SQLITE_BUSY'))).toBe('locked');
  for (const code of ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_WRITE', 'SQLITE_CORRUPT', undefined])
    expect(writeTroubleOf(coded(code))).toBeNull();
});

it('only a destroyed file counts as damage, and only what another process is doing as passing', () => {
  expect(isDamage(coded('SQLITE_CORRUPT_VTAB'))).toBe(true);
  expect(isDamage(coded('SQLITE_IOERR_READ'))).toBe(false);
  expect(isTransient(coded('SQLITE_BUSY_RECOVERY'))).toBe(true);
  expect(isTransient(coded('SQLITE_BUSY'))).toBe(false);
  for (const none of [null, undefined, 'SQLITE_FULL']) expect(faultOf(none)).toBeNull();
});

it('a used-up quota is known by its number, like a full disk: Node has no name for it', () => {
  const { EDQUOT, ENOSPC, EIO } = constants.errno;
  const met = [EDQUOT, ENOSPC, EIO].map((errno) => isWithoutRoom(Object.assign(new Error(), { errno: -errno })));
  expect([...met, isWithoutRoom(new Error('of no system call'))]).toEqual([true, true, false, false]);
});
