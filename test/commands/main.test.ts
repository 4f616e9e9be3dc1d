import { describe, expect, it } from 'vitest';
import { report } from '../../src/commands/main.ts';
import { CataloguedError } from '../../src/kernel/errors.ts';
import { capturedIo } from '../fakes/captured-io.ts';

function reported(error: unknown): { code: number; err: string } {
  const io = capturedIo();
  const code = report(error, io, 'run');
  return { code, err: io.err() };
}

const sqlite = (code: string) => Object.assign(new Error(code), { code });

describe('an exit', () => {
  it('names what came first, not what failed while everything was closed', () => {
    const first = new CataloguedError('io', 'the first cause', { exitCode: 74, hint: 'do this' });
    const closing = new SuppressedError(new Error('closing failed'), first);
    const twice = new SuppressedError(new Error('closing failed too'), closing);
    expect(reported(twice)).toEqual({ code: 74, err: 'Error: the first cause\nTry: do this\n' });
  });

  it.each([
    ['SQLITE_FULL', 74, 'the disk is full'],
    ['SQLITE_BUSY', 75, 'another program is writing'],
    ['SQLITE_IOERR_FSYNC', 74, 'the disk failed'],
  ])('because of %s is no bug, however deep it lies', (code, exit, words) => {
    for (const error of [
      sqlite(code),
      new Error('outer', { cause: new SuppressedError(new Error('closing'), sqlite(code)) }),
    ]) {
      const { code: found, err } = reported(error);
      expect({ found, said: err.split('\n')[0]?.includes(words), stack: err.includes('    at ') }).toEqual({
        found: exit,
        said: true,
        stack: false,
      });
    }
  });

  it('because of a bug has the stack of every cause', () => {
    const { code, err } = reported(new Error('outer', { cause: new Error('inner') }));
    expect(code).toBe(70);
    expect(err).toMatch(/^Error: Error: outer\n {4}at [\s\S]*Caused by: Error: inner\n {4}at [\s\S]*Try: report this/);
  });
});
