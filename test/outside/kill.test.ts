import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { happens, Stage } from './stage.ts';

const concurrency = 4;
/** Answers that may wait to be stored at a kill, beside those that are in flight. */
const together = 8;

it('a first fill that is killed twice ends equal to the service, and repeats only what was in flight', async () => {
  await using stage = await Stage.open({ service: ['--products', '12'], config: { budget: { concurrency } } });
  await stage.service.quirks({ slow_ms: 10 });
  const again = async () =>
    Object.entries((await stage.service.calls()).repeated)
      .filter(([url]) => url.startsWith('/v2/products/'))
      .reduce((sum, [, times]) => sum + times - 1, 0);
  const kills = [20, 50];
  for (const calls of kills) {
    await stage.live();
    await happens(
      () => stage.service.calls(),
      (seen) => seen.calls >= calls,
    );
    await stage.ended('SIGKILL');
  }
  await stage.filled();
  expect(
    await happens(
      () => stage.differences(),
      (differences) => differences.length === 0,
    ),
  ).toEqual([]);
  const most = kills.length * (concurrency + together);
  expect(await again()).toBeLessThanOrEqual(most);

  // What a fill from nothing repeats is more than that (control).
  await stage.ended();
  rmSync(dirname(stage.mirror), { recursive: true });
  await stage.filled();
  expect(await again()).toBeGreaterThan(most);
});
