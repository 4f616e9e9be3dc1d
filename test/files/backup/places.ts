import { join } from 'node:path';
import type { BackupOrder } from '../../../src/files/backup/make.ts';
import { temporaryDirectory, testMirror } from '../../fakes/test-mirror.ts';

/** Two files of which one is of ours, and a directory for backups. */
export function place() {
  const test = testMirror();
  const directory = temporaryDirectory();
  const inbox = join(directory.path, 'inbox.db');
  const order = (now: number): BackupOrder => ({
    mirror: test.path,
    inbox,
    directory: join(directory.path, 'backup'),
    why: 'asked',
    made_by: 'catalogued test',
    now,
  });
  return {
    ...test,
    order,
    backups: join(directory.path, 'backup'),
    [Symbol.dispose]: () => {
      test[Symbol.dispose]();
      directory[Symbol.dispose]();
    },
  };
}
