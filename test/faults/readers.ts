import { besideHastyFollower, lagsOf, whileFollowing } from '../storefronts/under-load/followed.ts';
import { duringMigration, duringResync } from '../storefronts/under-load/scenarios.ts';
import { lagText, problemsOf, readsOf, resultsTable } from '../storefronts/under-load/verdict.ts';
import type { Outcome } from './run.ts';

type Say = (line: string) => void;
const count = (of: number) => of.toLocaleString('en');

function outcome(problems: readonly string[], numbers: string): Outcome {
  return { passed: problems.length === 0, numbers: [numbers, ...problems].join('; ') };
}

/** Reads in three languages while everything is read from the service again, and while a mirror of the oldest schema is brought up to date. */
export async function readersOfMirror(reads: number, say: Say): Promise<Outcome> {
  const resync = await duringResync({ reads: 0.8 * reads, products: 200 });
  const migration = await duringMigration({ reads: 0.2 * reads, products: 20_000 });
  const results = { 'a resync': resync.results, 'a migration': migration.results };
  say(resultsTable(results));
  return outcome(
    Object.values(results).flatMap(problemsOf),
    `${count(readsOf(...Object.values(results)))} reads; ${resync.resyncs} resyncs with ${count(resync.answers)} answers, each of another state; ${count(migration.rows)} days migrated in ${migration.ms.toFixed(0)} ms, with ${count(migration.meanwhile)} reads meanwhile`,
  );
}

/** Reads the copy that `catalogued follow` keeps, the daemon killed three times. */
export async function readersOfCopy(reads: number, say: Say): Promise<Outcome> {
  const { usual, storm, notifications } = await lagsOf({ products: 100, seconds: 60, notifications: 5000 });
  say(`From the mirror to the copy, at 10 calls a second: ${lagText(usual)}`);
  say(`in a storm of ${count(notifications)} notifications: ${lagText(storm)}`);
  const { results, kills, answers, lags } = await whileFollowing({ reads, products: 40, kills: 3 });
  say(resultsTable({ 'resyncs, followed': results }));
  return outcome(
    problemsOf(results),
    `${count(readsOf(results))} reads of the copy; ${count(answers)} answers, each of another state; the daemon was killed ${kills} times; from the mirror to the copy meanwhile: ${lagText(lags)}`,
  );
}

/** Reads a copy whose follower commits row by row. */
export async function readersOfHastyCopy(): Promise<Outcome> {
  const hasty = await besideHastyFollower({ reads: 300 });
  const seen = [...hasty.values()].filter(({ inconsistent }) => inconsistent > 0).length;
  return { passed: seen === hasty.size, numbers: `${seen} of ${hasty.size} readers see half windows` };
}
