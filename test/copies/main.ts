import { parseArgs } from 'node:util';
import { announced, announcedViews } from './importer.ts';
import { follow } from './run.ts';

/* Follows the feed through many random changes: node test/copies/main.ts --changes 10000 --seed 1 */

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    without: { type: 'string', default: '' },
  },
});
const started = performance.now();
const { wrong, needless, lines, passes, changes, seen } = await follow({
  changes: Number(values.changes),
  seed: Number(values.seed),
  without: values.without === '' ? [] : values.without.split(','),
  progress: (done) => {
    if (done % 500 < 6)
      process.stdout.write(`${done} changes, ${Math.round((performance.now() - started) / 1000)} s\n`);
  },
});
process.stdout.write(
  `${JSON.stringify(
    {
      changes,
      passes,
      lines,
      columns: seen.size,
      unseen: announcedViews
        .flatMap((view) => announced(view).map((name) => `${view}.${name}`))
        .filter((name) => !seen.has(name)),
      wrong,
      needless,
    },
    null,
    2,
  )}\n`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
