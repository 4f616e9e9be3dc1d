import { join } from 'node:path';
import Database from 'better-sqlite3';
import { CataloguedError, exitCodes } from '../errors.ts';

/**
 * The right to write: one process a state directory, held until it is disposed of or the process ends. A kernel
 * lock under a SQLite transaction, so it also holds between containers, and a kill -9 frees it. Taken: 75.
 */
export function acquireLock(state_dir: string): Disposable {
  const lock = new Database(join(state_dir, 'catalogued.lock'), { timeout: 0 });
  try {
    lock.pragma('journal_mode = DELETE');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!(error instanceof Database.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error;
    throw new CataloguedError('already-running', `another catalogued holds ${state_dir}`, {
      exitCode: exitCodes.retryLater,
      hint: 'stop that one first, or name another mirror.state_dir, mirror.path and mirror.inbox_path',
    });
  }
  return { [Symbol.dispose]: () => lock.close() };
}
