import { anyNumber, commandLine } from '../command-line.ts';
import { announced, announcedViews } from './importer.ts';
import { follow } from './run.ts';

const { without, ...asked } = commandLine(
  'npm run test:copies --',
  'Follows the feed through many random changes. Exit 0: the copy never differs.',
  { '': '10,000 changes', '--changes 500 --without closed': 'a control: it differs' },
)
  .option('--changes <n>', 'how many', anyNumber, 10_000)
  .option('--seed <n>', 'which', anyNumber, 1)
  .option('--without <kinds>', 'as if these kinds were not told, with commas between')
  .parse()
  .opts<{ changes: number; seed: number; without?: string }>();
const started = performance.now();
const { wrong, needless, lines, passes, changes, seen } = await follow({
  ...asked,
  without: without?.split(',') ?? [],
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
