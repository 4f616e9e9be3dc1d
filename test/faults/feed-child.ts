import { openMirroring } from '../../src/daemon/mirroring.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';

/*
 * Writes the change feed until it is killed: `feed-child.ts DIRECTORY`. Prints the number of each change once it is
 * committed, and so may have been read.
 */
const [directory = '.'] = process.argv.slice(2);
const { mirror } = await openMirroring(testMachine(), testConfig(directory, 'http://127.0.0.1:1'));
const by = { sent_at: systemClock.now(), reason: 'requested' } as const;
process.stdout.write(`feed ${mirror.path}\n`);
for (;;) {
  mirror.transaction(() => mirror.changes.add({ product_id: 1, kind: 'sale_enabled', detail: {} }, by));
  process.stdout.write(`${mirror.changes.newest()}\n`);
  await systemClock.sleep(1);
}
