/*
 * Imported before anything native is: better-sqlite3 ends an older Node with a segmentation fault and not a word.
 */

import { CataloguedError, exitCodes } from '../kernel/errors.ts';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 22) {
  throw new CataloguedError(
    'old-node',
    `catalogued/reader needs Node 22 or newer; this is Node ${process.versions.node}`,
    {
      exitCode: exitCodes.configuration,
      hint: 'run the storefront with a newer Node, or read the views with any SQLite from 3.38 on',
    },
  );
}
