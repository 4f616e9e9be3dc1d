import { anyNumber, commandLine } from '../../command-line.ts';
import { besideHastyFollower, lagsOf, whileFollowing } from './followed.ts';
import { duringMigration, duringResync } from './scenarios.ts';
import { lagText, problemsOf, readsOf, resultsTable } from './verdict.ts';

const command = commandLine(
  'npm run test:readers --',
  'Reads in three languages while everything is read from the service again, and while a mirror of the oldest schema is brought up to date. Exit 0: no reader saw half an update, failed twice or waited.',
  { '': 'a million reads', '10000': 'fewer', '--followed': 'of a copy' },
)
  .argument('[reads]', 'how many', anyNumber, 1_000_000)
  .option('--followed', 'of the copy that `catalogued follow` keeps, the daemon killed three times, and how late it is')
  .parse();
const { followed } = command.opts<{ followed?: true }>();
const [reads] = command.processedArgs as [number];
const problems = followed ? await ofCopy() : await ofMirror();
process.stdout.write(`${problems.length === 0 ? 'No problem.' : problems.join('\n')}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

async function ofMirror(): Promise<string[]> {
  const resync = await duringResync({ reads: 0.8 * reads, products: 200 });
  const migration = await duringMigration({ reads: 0.2 * reads, products: 20_000 });
  const results = { 'a resync': resync.results, 'a migration': migration.results };
  process.stdout.write(`${resultsTable(results)}
${readsOf(...Object.values(results)).toLocaleString('en')} reads; ${resync.resyncs} resyncs with ${resync.answers.toLocaleString('en')} answers, each of another state;
${migration.rows.toLocaleString('en')} days migrated in ${migration.ms.toFixed(0)} ms, with ${migration.meanwhile.toLocaleString('en')} reads meanwhile.
`);
  return Object.values(results).flatMap(problemsOf);
}

async function ofCopy(): Promise<string[]> {
  const { usual, storm, notifications } = await lagsOf({ products: 100, seconds: 60, notifications: 5000 });
  process.stdout.write(`From the mirror to the copy, at 10 calls a second: ${lagText(usual)}
in a storm of ${notifications.toLocaleString('en')} notifications: ${lagText(storm)}
`);
  const hasty = await besideHastyFollower({ reads: 300 });
  const seen = [...hasty.values()].filter(({ inconsistent }) => inconsistent > 0).length;
  process.stdout.write(
    `A follower that commits row by row (control): ${seen} of ${hasty.size} readers see half windows.\n`,
  );
  const { results, kills, answers, lags } = await whileFollowing({ reads, products: 40, kills: 3 });
  process.stdout.write(`${resultsTable({ 'resyncs, followed': results })}
${readsOf(results).toLocaleString('en')} reads of the copy; ${answers.toLocaleString('en')} answers, each of another state; the daemon was killed ${kills} times;
from the mirror to the copy meanwhile: ${lagText(lags)}
`);
  return [
    ...problemsOf(results),
    ...(seen === hasty.size ? [] : ['not every reader sees half a window where there are some']),
  ];
}
