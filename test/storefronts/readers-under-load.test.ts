import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { thorough } from '../fakes/thorough.ts';
import { besideBlocker, besideWriter, duringMigration, duringResync } from './under-load/scenarios.ts';
import { allLanguages } from './under-load/start-readers.ts';
import { problemsOf, readsOf, resultsTable } from './under-load/verdict.ts';

/* `npm run faults -- --only readers` is the same with more of everything. */

const reads = thorough ? 100_000 : 8_000;

describe('four readers in PHP, Python and Node', needs('php', 'python3'), () => {
  it(`see one state of the service in each of ${reads} reads, during resyncs and a migration, and wait for nobody`, async () => {
    const resync = await duringResync({ reads: 0.8 * reads, products: 40 });
    const migration = await duringMigration({ reads: 0.2 * reads, products: reads / 20 });
    const results = { 'a resync': resync.results, 'a migration': migration.results };
    process.stdout.write(`${resultsTable(results)}\n`);
    expect(migration.rows).toBeGreaterThanOrEqual(reads / 2);
    expect(migration.meanwhile).toBeGreaterThan(0);
    expect(readsOf(resync.results, migration.results)).toBeGreaterThanOrEqual(reads);
    expect(Object.values(results).flatMap(problemsOf)).toEqual([]);
  });

  it(
    'see half a window where a writer stores it in two transactions, and nothing where it stores it whole (control)',
    needs('time'),
    async () => {
      const halves = await besideWriter('halves', { reads: 300 });
      expect(problemsOf(halves).filter((problem) => /inconsistent/.test(problem))).toHaveLength(allLanguages.length);
      expect(problemsOf(await besideWriter('whole', { reads: 300 }))).toEqual([]);
    },
  );

  it('see two states where two statements are not one transaction (control)', needs('time'), async () => {
    const apart = await besideWriter('whole', { reads: 300, around: 'none', turns: ['window'] });
    expect(problemsOf(apart).filter((problem) => /inconsistent/.test(problem))).toHaveLength(allLanguages.length);
  });

  it('notice that they are kept waiting (control)', async () => {
    // Four times what they have to notice: on a busy machine one of them may not get to run for most of it.
    const blocked = await besideBlocker(1000, {});
    expect(problemsOf(blocked).filter((problem) => /was blocked for \d+ ms/.test(problem))).toHaveLength(
      allLanguages.length,
    );
  });
});
