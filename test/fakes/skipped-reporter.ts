import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { type Need, skippedLines } from './tools.ts';

/** Ends a run with one line that names what was skipped and the command that installs it. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = skippedLines(modules.flatMap((module) => [...module.children.allTests()].flatMap(missingFor)));
    if (lines.length > 0) process.once('exit', () => process.stdout.write(`\n${lines.join('\n')}\n`));
  }
}

/** Returns a list with everything that a test was skipped for, by itself and with each suite around it, or no list. */
function missingFor(test: TestCase): (readonly Need[])[] {
  if (test.result().state !== 'skipped') return [];
  const missing = new Set<Need>();
  for (let task: TestCase['parent'] | TestCase = test; task.type !== 'module'; task = task.parent)
    for (const need of task.meta().missing ?? []) missing.add(need);
  return missing.size === 0 ? [] : [[...missing]];
}
