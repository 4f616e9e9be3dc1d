import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { afterAll } from 'vitest';

/*
 * Imported first by a test file in a scratch copy: counts how often each function of the sources is called by its tests. What
 * is never called can be changed without that they notice.
 */
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

afterAll(async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const sources = result.filter(({ url }) => url.includes('/src/') && !url.includes('/node_modules/'));
  const calls = sources.map(({ url, functions }) => {
    const counts: Record<string, number> = {};
    for (const { functionName, ranges } of functions)
      counts[functionName] = (counts[functionName] ?? 0) + (ranges[0]?.count ?? 0);
    return [url.replace('file://', ''), counts] as const;
  });
  writeFileSync(process.env.CATALOGUED_TEST_REACHED ?? '', JSON.stringify(Object.fromEntries(calls)));
});
