import { setPriority } from 'node:os';
import { isDamage } from '../kernel/sqlite/fault.ts';
import { openReadOnly } from '../kernel/sqlite/read-only.ts';

/*
 * Checks a whole file in a separate process, while the daemon writes it: `integrity-child.ts PATH quick|full`. Prints
 * `ok` or the first problem. Exits with 1 if it could not check.
 */
const [path = '', depth = 'quick'] = process.argv.slice(2);
try {
  setPriority(19);
  const db = openReadOnly(path);
  const check = depth === 'full' ? 'integrity_check(1)' : 'quick_check(1)';
  process.stdout.write(String(db.pragma(check, { simple: true })).replaceAll('\n', ' '));
  db.close();
} catch (error) {
  const found = isDamage(error);
  (found ? process.stdout : process.stderr).write((error as Error).message);
  process.exitCode = found ? 0 : 1;
}
