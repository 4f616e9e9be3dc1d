import Database from 'better-sqlite3';
import { walkProducts } from '../../src/catalogue/walk-products.ask.ts';
import { walSizeOf } from '../../src/kernel/sqlite/database-file.ts';
import { walkKinds } from '../../src/schedule/record.rules.ts';
import { ReadLane } from '../../src/schedule/sync.ts';
import { type DaemonJobs, startJobs } from '../fakes/daemon-jobs.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { count, type Line, median, optionsOf } from './measure.ts';
import { startProgramHere } from './stage.ts';

/*
 * A walk over a list in which nothing has changed, as it is made up to 96 times a day: what it writes, and what it takes of
 * the processor. `npm run bench -- walks [--products 7500]`
 */

const rounds = 5;

interface Walk {
  readonly ms: number;
  readonly wal_bytes: number;
}

export async function walkLines(args: readonly string[]): Promise<Line[]> {
  const { products } = optionsOf('walks', args, { products: 7500 });
  using service = await startProgramHere<string>('replayed-service.ts', products);
  using directory = temporaryDirectory();
  const config = testConfig(directory.path, service.first);
  await using daemon = await startJobs(testMachine({ log: testLog('warn').log }), config);
  await walked(daemon);
  const walks: Walk[] = [];
  for (let round = 0; round < rounds; round += 1) walks.push(await walked(daemon));
  const [ms, bytes] = [median(walks.map((each) => each.ms)), median(walks.map((each) => each.wal_bytes))];
  const a_product = bytes / products;
  return [
    {
      what: `a walk over ${count(products)} listed products of which none has changed: written`,
      value: `${(bytes / 2 ** 20).toFixed(1)} MiB of WAL, ${(a_product / 1024).toFixed(1)} KiB a product`,
      target: '≤ 0.7 KiB a product',
      met: a_product <= 0.7 * 1024,
    },
    {
      what: 'its processor time, so many of a day with 96 walks',
      value: `${((1000 * ms) / products).toFixed(0)} µs a product; ${((100 * 96 * ms) / 86_400_000).toFixed(2)} % of a core`,
      target: '< 2 %',
      met: (96 * ms) / 86_400_000 < 0.02,
    },
  ];
}

async function walked({ daemon: { sync, mirror } }: DaemonJobs): Promise<Walk> {
  const db = new Database(mirror.path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const record = mirror.schedule.records.find({ ...walkKinds(sync.policy.extent).primary, product_id: 0 });
  if (record === null) throw new Error('the list is not among the records');
  const lane = new ReadLane(sync, 'weekly', async (work) => mirror.transaction(work));
  const before = process.cpuUsage();
  const walk = await walkProducts(lane, record, new AbortController().signal);
  if (walk.kind !== 'stored') throw new Error(`the walk ended as ${JSON.stringify(walk)}`);
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1000, wal_bytes: walSizeOf(mirror.path) };
}
