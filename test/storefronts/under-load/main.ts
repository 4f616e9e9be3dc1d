import { duringMigration, duringResync } from './scenarios.ts';
import { problemsOf, readsOf, resultsTable } from './verdict.ts';

/*
 * `npm run test:readers [-- READS]`: readers in three languages while everything is read from the service again, and
 * while a mirror of the oldest schema is brought up to date. Exit 0: none saw half an update, failed twice or waited.
 */

const reads = Number(process.argv[2] ?? 1_000_000);
const resync = await duringResync({ reads: 0.8 * reads, products: 200 });
const migration = await duringMigration({ reads: 0.2 * reads, products: 20_000 });
const results = { 'a resync': resync.results, 'a migration': migration.results };
const problems = Object.values(results).flatMap(problemsOf);
process.stdout.write(`${resultsTable(results)}
${readsOf(...Object.values(results)).toLocaleString('en')} reads; ${resync.resyncs} resyncs with ${resync.answers.toLocaleString('en')} answers, each of another state;
${migration.rows.toLocaleString('en')} days migrated in ${migration.ms.toFixed(0)} ms, with ${migration.meanwhile.toLocaleString('en')} reads meanwhile.
${problems.length === 0 ? 'No problem.' : problems.join('\n')}
`);
process.exitCode = problems.length === 0 ? 0 : 1;
