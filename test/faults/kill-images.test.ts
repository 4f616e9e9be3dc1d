import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { thorough } from '../fakes/thorough.ts';
import { killImages } from './kill-images.ts';

const seed = Number(process.env.CATALOGUED_TEST_SEED ?? 1);
/** As many as are asked for: `CATALOGUED_TEST_IMAGES=5000 npx vitest run --config test/vitest.config.ts kill-images`. */
const images = Number(process.env.CATALOGUED_TEST_IMAGES ?? (thorough ? 300 : 100));
const kills = thorough ? 10 : 4;

it(`${images} image files killed ${kills} times: none is half, none is left over, and nothing comes twice (seed ${seed})`, async () => {
  const result = await killImages({ images, kills, mode: 'honest', seed });
  if (images > 300) process.stdout.write(`${JSON.stringify(result)}\n`);
  expect(result.images).toBeGreaterThanOrEqual(images);
  expect(result.partial).toBe(0);
  expect(result.found).toEqual({ files: result.images, partial: 0, orphans: 0, lost: 0 });
  // What was under way, and what was whole and not yet noted: four places and what waits behind them.
  expect(result.again).toBeLessThan(kills * 8 * 15_000);
  expect(result.second).toBeLessThan(result.bytes / 100);
  expect(result.unchanged).toBe(result.images);
});

it('the harness sees files that are written straight to their final name (control)', needs('time'), async () => {
  const { partial } = await killImages({ images: 100, kills: 5, mode: 'straight', seed });
  expect(partial).toBeGreaterThan(0);
});
