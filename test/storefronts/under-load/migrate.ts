import { performance } from 'node:perf_hooks';
import { openMirror } from '../../../src/mirror/mirror.ts';
import { versionOf } from '../../fakes/next-version.ts';

/* Opens a mirror as the next version does at its start, in a process of its own; prints how long that took, in milliseconds. */

const [path = '', schema = ''] = process.argv.slice(2);
versionOf(schema).install();

const start = performance.now();
process.stdout.write('opens\n');
const mirror = openMirror({
  path,
  pair_id: 'pair',
  written_by: 'catalogued of tomorrow',
  language: 'en',
  currency: 'EUR',
  image_size: null,
  backups: [],
  newFeedId: () => 'feed',
});
process.stdout.write(`opened ${performance.now() - start}\n`);
mirror[Symbol.dispose]();
