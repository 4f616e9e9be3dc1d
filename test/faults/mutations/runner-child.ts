import { Writable } from 'node:stream';
import { createVitest } from 'vitest/node';
import { firstFiles } from '../../near/durations.ts';
import type { Asked, Came } from './runner.ts';

/*
 * Vitest in a scratch copy, the working directory, for one run after the other: what is not changed between two runs is read
 * and compiled once. The argument is how many files run side by side.
 */
const silent = () => new Writable({ write: (_chunk, _encoding, done) => done() }) as NodeJS.WriteStream;
const vitest = await createVitest(
  'test',
  { config: 'test/vitest.config.ts', watch: false, bail: 1, maxWorkers: Number(process.argv[2]), reporters: [{}] },
  {},
  { stdout: silent(), stderr: silent() },
);

process.on('message', async ({ files, changed, titles, first }: Asked) => {
  for (const path of changed) vitest.invalidateFile(path);
  process.env[firstFiles] = first;
  if (titles === null) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(titles));
  // Else what became of another mutation counts for this one.
  vitest.state.filesMap.clear();
  const specifications = files.map((file) => vitest.getRootProject().createSpecification(file));
  const came = await vitest.runTestSpecifications(specifications).then(
    ({ testModules, unhandledErrors }): Came => ({
      tests: testModules.flatMap((module) =>
        [...module.children.allTests()].map((test) => ({
          file: module.moduleId,
          title: test.fullName.replaceAll(' > ', ' '),
          state: test.result().state,
        })),
      ),
      broken: testModules.filter((module) => module.state() === 'failed').map(({ moduleId }) => moduleId),
      error: unhandledErrors.length > 0 ? String(unhandledErrors[0]) : null,
    }),
    (error: unknown): Came => ({ tests: [], broken: [], error: String(error) }),
  );
  process.send?.(came);
});
// The parent has ended, or needs no further run.
process.on('disconnect', async () => {
  await vitest.close().catch(() => undefined);
  process.exit();
});
process.send?.('ready');
