import { setPriority } from 'node:os';
import { openReadOnly } from '../sqlite/read-only.ts';

/*
 * A process of its own for a check of a whole file: `integrity-child.ts PATH quick|full`, as the daemon writes it. Prints
 * `ok` or the first problem; ends with 1 where it could not look.
 */
const [path = '', depth = 'quick'] = process.argv.slice(2);
try {
  setPriority(19);
  const db = openReadOnly(path);
  const check = depth === 'full' ? 'integrity_check(1)' : 'quick_check(1)';
  process.stdout.write(String(db.pragma(check, { simple: true })).replaceAll('\n', ' '));
  db.close();
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  const found = /^SQLITE_(CORRUPT|NOTADB)/.test(code ?? '');
  (found ? process.stdout : process.stderr).write(message);
  process.exitCode = found ? 0 : 1;
}
