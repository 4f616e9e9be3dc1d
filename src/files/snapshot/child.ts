import { renumberRows } from '../../feed/capture.store.ts';
import type { Database } from '../../kernel/sqlite/database-file.ts';
import { publishCopy, temporaryName } from '../../kernel/sqlite/published-copy.ts';

/*
 * Publishes a copy in a separate process: hundreds of megabytes take seconds, in which the daemon must answer and be
 * able to end. Prints the result as JSON, or the error on standard error and exits with 1.
 */
const [source = '', path = '', origin, state] = process.argv.slice(2);
try {
  const amend = (copy: Database) => {
    if (origin !== undefined) renumberRows(copy, origin, Number(state));
  };
  process.stdout.write(JSON.stringify(publishCopy(source, path, temporaryName(path, process.pid), { amend })));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  process.stderr.write(code === undefined || message.includes(code) ? message : `${message} (${code})`);
  process.exitCode = 1;
}
