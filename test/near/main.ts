import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { commandLine } from '../command-line.ts';
import { type Candidate, candidates, choose } from './choice.ts';
import { durations, firstFiles } from './durations.ts';

/* Runs the test files nearest to what changed since the last commit, as many of them as half a minute allows. */
commandLine(
  'npm run near --',
  'Runs the tests nearest to what changed since the last commit, or in it where nothing changed since. At most 30 s.',
  { '': 'what is changed, and new files' },
).parse();

const root = join(import.meta.dirname, '../..');
/** Vitest needs the rest of the half minute to start, and a machine that is busy for its noise. */
const most = 20;

const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((name) => name !== '');
const pending = [
  ...git('diff', '--name-only', '--no-renames', '-z', 'HEAD'),
  ...git('ls-files', '--others', '--exclude-standard', '-z'),
];
const changed = pending.length > 0 ? pending : git('show', '--name-only', '--no-renames', '--format=', '-z', 'HEAD');
const since = pending.length > 0 ? 'changed since the last commit' : 'changed in the last commit';

const estimate = durations();
const seconds = (test: string) => estimate(test.replace(/^test\//, ''));
const found = candidates(root, changed).filter(({ test }) => existsSync(join(root, test)));
const choice = choose(found, { seconds, most, processors: availableParallelism() });

const short = (test: string) => test.replace(/^test\//, '').replace(/\.test\.ts$/, '');
const named = (list: readonly Candidate[]) => list.map(({ test }) => short(test)).join(', ');
const reasons = [...Map.groupBy(choice.run, (each) => each.changed)].map(([file, list]) => {
  const own = list.filter(({ test }) => test === file);
  return own.length > 0 ? `${named(own)} (changed)` : `${named(list)} (near ${file})`;
});
const left = choice.left.map(({ test }) => `${short(test)} (${Math.ceil(seconds(test))} s)`);
const runs = reasons.length === 0 ? `no test is near to what ${since}` : `runs ${reasons.join(', ')}`;
const leaves = left.length === 0 ? 'leaves out none that is near' : `leaves out ${left.join(', ')}`;
process.stdout.write(
  `${changed.length} ${changed.length === 1 ? 'file' : 'files'} ${since}: ${runs}: about ${Math.ceil(choice.seconds)} s; ${leaves}\n`,
);

if (choice.run.length > 0) {
  const own = choice.run.filter((each) => each.test === each.changed).map(({ test }) => test.replace(/^test\//, ''));
  const files = choice.run.map(({ test }) => join(root, test));
  const { status } = spawnSync(
    join(root, 'node_modules/.bin/vitest'),
    ['run', '--config', 'test/vitest.config.ts', ...files],
    { cwd: root, stdio: 'inherit', env: { ...process.env, [firstFiles]: own.join(',') } },
  );
  process.exitCode = status ?? 1;
}
