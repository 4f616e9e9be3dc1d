import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type How, ownDisk } from './failing-disk.ts';
import { begin, type ScenarioName, scenarios } from './scenarios.ts';
import type { Swept } from './sweep.ts';

/* `sweep-child.ts SCENARIO HOW TIMES STEP DIRECTORY`: fails the first call, the next one, … until none is left to fail. */
const [name, how, times, step, directory = '.'] = process.argv.slice(2) as [ScenarioName, How, string, string, string];
const { prepare, round } = scenarios[name];
using disk = ownDisk();
const prepared = join(directory, 'prepared');
mkdirSync(prepared);
prepare(prepared);
const wrong: string[] = [];
let positions = 0;
for (let from = 1; ; from += Number(step)) {
  const own = join(directory, 'round');
  begin(prepared, own);
  process.env.TMPDIR = own;
  let failed = 0;
  disk.arm({ how, from, times: Number(times) });
  const said = await round(own, () => {
    failed += disk.disarm().failed;
  }).catch((error: unknown) => String((error as Error).stack));
  disk.disarm();
  rmSync(own, { recursive: true, force: true });
  if (said !== null) wrong.push(`call ${from}: ${said}`);
  if (failed === 0) break;
  positions += 1;
}
// A start that failed has left its servers behind.
process.stdout.write(JSON.stringify({ positions, wrong } satisfies Swept), () => process.exit());
