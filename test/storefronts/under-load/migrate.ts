import { performance } from 'node:perf_hooks';
import { openMirror } from '../../../src/mirror/mirror.ts';

/* Opens a mirror as the daemon does at its start, in a process of its own; prints how long that took, in milliseconds. */

const start = performance.now();
process.stdout.write('opens\n');
const mirror = openMirror({
  path: process.argv[2] ?? '',
  pair_id: 'pair',
  written_by: 'catalogued of today',
  language: 'en',
  currency: 'EUR',
  image_size: null,
  backups: [],
  newFeedId: () => 'feed',
});
process.stdout.write(`opened ${performance.now() - start}\n`);
mirror[Symbol.dispose]();
