import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { type Need, skippedLine } from './needs.ts';

/** Ends a run with one line that names what was skipped and the command that installs it. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const line = skippedLine(modules.flatMap((module) => [...module.children.allTests()].flatMap(missingFor)));
    if (line !== null) process.once('exit', () => process.stdout.write(`\n${line}\n`));
  }
}

/** What a test was skipped for, by itself or with the suite around it: a list of one list, or of none. */
function missingFor(test: TestCase): (readonly Need[])[] {
  if (test.result().state !== 'skipped') return [];
  for (let task: TestCase['parent'] | TestCase = test; ; ) {
    const { missing } = task.type === 'module' ? {} : task.meta();
    if (missing !== undefined) return [missing];
    if (task.type === 'module') return [];
    task = task.parent;
  }
}
