import { publishCopy } from '../../src/kernel/sqlite/published-copy.ts';

/* The control: a copy that is written straight to its final name. */
const [source = '', path = ''] = process.argv.slice(2);
publishCopy(source, path, path);
