import { publishCopy, temporaryName } from '../sqlite/published-copy.ts';

/*
 * A process of its own for a copy: hundreds of megabytes take seconds, in which the daemon answers and can end. Prints
 * what was published as JSON, or why not on standard error, and ends with 1.
 */
const [source = '', path = ''] = process.argv.slice(2);
try {
  process.stdout.write(JSON.stringify(publishCopy(source, path, temporaryName(path, process.pid))));
} catch (error) {
  const { code, message } = error as NodeJS.ErrnoException;
  process.stderr.write(code === undefined || message.includes(code) ? message : `${message} (${code})`);
  process.exitCode = 1;
}
