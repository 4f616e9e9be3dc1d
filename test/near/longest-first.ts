import { join, relative } from 'node:path';
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { durations, firstFiles, remember } from './durations.ts';

const nameOf = ({ moduleId }: { readonly moduleId: string }) => relative(join(import.meta.dirname, '..'), moduleId);

/** Runs the files that are named in the environment in their order, then the longest first: none of them is left alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = durations();
    const first = process.env[firstFiles]?.split(',') ?? [];
    const place = (file: TestSpecification) => first.lastIndexOf(nameOf(file));
    const isLater = (file: TestSpecification) => Number(place(file) < 0);
    return files.toSorted(
      (a, b) => isLater(a) - isLater(b) || place(a) - place(b) || seconds(nameOf(b)) - seconds(nameOf(a)),
    );
  }
}

/** Remembers how long each file took, unless only some of its tests ran. */
export class DurationReporter implements Reporter {
  #isPartial = false;

  onInit({ config }: Vitest): void {
    this.#isPartial = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#isPartial) return;
    const ran = modules.filter((module) => module.diagnostic().duration > 0);
    remember(Object.fromEntries(ran.map((module) => [nameOf(module), module.diagnostic().duration / 1000])));
  }
}
