import { describe, expect, it } from 'vitest';
import { startDaemon } from '../src/daemon/daemon.ts';
import { testConfig } from './fakes/test-config.ts';
import { testLog } from './fakes/test-log.ts';
import { temporaryDirectory } from './fakes/test-mirror.ts';

/** The schedule as it is agreed: a job's name and its period in seconds or its pattern, in the order of one instant. */
const agreed = [
  'disk 1',
  'clock 1',
  'feed-witness 60',
  'receiver 60',
  'check-flood 60',
  'subscriptions 60',
  'chores 60',
  'offers 60',
  'categories 3600',
  'pass 1',
  'outage 1',
  'snapshot 1',
  'check-counts 1',
  'image-limits 60',
  'image-files 1',
  'start-check 60',
  'optimise 0 4 * * *',
  'integrity 0 4 * * *',
  'retention 3600',
  'image-sweep 3600',
];

/** What stands elsewhere than agreed, or is not agreed at all. */
function differing(found: readonly string[]): string[] {
  const places = Array.from({ length: Math.max(agreed.length, found.length) }, (_, place) => place);
  return places.flatMap((place) =>
    found[place] === agreed[place] ? [] : [`${place}: ${found[place] ?? 'nothing'} for ${agreed[place] ?? 'nothing'}`],
  );
}

async function jobsFound(): Promise<string[]> {
  using directory = temporaryDirectory();
  await using daemon = await startDaemon(testConfig(directory.path, 'http://127.0.0.1:9'), testLog('silent').log);
  return daemon.schedule.list().map(({ name, every_ms, at }) => `${name} ${every_ms === null ? at : every_ms / 1000}`);
}

describe('the list of jobs', () => {
  it('is the one that is agreed, with its periods and its order', async () => {
    expect(differing(await jobsFound())).toEqual([]);
  });

  it.each(agreed)('would be noticed without, with a second, a slower and a misplaced %s (control)', (job) => {
    const at = agreed.indexOf(job);
    const [name] = job.split(' ');
    const others = agreed.toSpliced(at, 1);
    expect(differing(others)).not.toEqual([]);
    expect(differing(agreed.toSpliced(at, 0, job))).not.toEqual([]);
    expect(differing(agreed.with(at, `${name} 7200`))).toHaveLength(1);
    expect(differing(others.toSpliced(at === 0 ? 1 : at - 1, 0, job))).toHaveLength(2);
  });
});
