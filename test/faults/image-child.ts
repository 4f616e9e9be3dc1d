import { createWriteStream, mkdirSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import { startJobs } from '../fakes/daemon-jobs.ts';
import { listsOnly } from '../fakes/image-harness.ts';
import { testConfig } from '../fakes/test-config.ts';
import { nearby, testMachine } from '../fakes/test-machine.ts';

/*
 * Fetches image files until none is due, to be killed: `node image-child.ts DIRECTORY SERVICE MODE`. The mode
 * `straight` is the control: it writes to the final name, which it learns from the host.
 */
const [path = '.', service = '', mode = 'honest'] = process.argv.slice(2);
const directory = join(path, 'images');
const config = testConfig(path, service, { service: listsOnly, images: { files: true, directory } });

// It is killed before it could do that at its end: the next one starts in half the time.
flushCompileCache();

await using jobs = await startJobs(testMachine({ log: createLog('error', process.stderr), network: nearby }), config);
const { mirror } = jobs.daemon;
const anyDue = () => mirror.catalogue.imageFiles.due(systemClock.now(), 'all', 1).length > 0;

if (mode === 'straight') {
  const queue = mirror.catalogue.imageFiles.due(systemClock.now(), 'all', 1_000_000);
  const work = async () => {
    for (let row = queue.shift(); row !== undefined; row = queue.shift()) {
      const answer = await fetch(row.url);
      const checksum = answer.headers.get('etag')?.slice(1, -1) ?? '';
      const file = `${checksum.slice(0, 2)}/${checksum.slice(2, 4)}/${checksum}.jpg`;
      mkdirSync(dirname(join(directory, file)), { recursive: true });
      if (answer.body !== null) await pipeline(answer.body, createWriteStream(join(directory, file)));
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
} else {
  for (const job of ['image-sweep', 'image-limits']) await jobs.run(job);
  do await jobs.run('image-files');
  while (anyDue());
}
