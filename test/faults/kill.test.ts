import { expect, it } from 'vitest';
import { killRounds } from './kill.ts';

const seed = Number(process.env.CATALOGUED_TEST_SEED ?? 1);

it(`no acknowledged delivery is lost to thirty times kill -9 under eight senders (seed ${seed})`, async () => {
  const { acknowledged, lost, damage } = await killRounds(30, 'honest', seed);
  expect({ lost, damage }).toEqual({ lost: 0, damage: null });
  expect(acknowledged).toBeGreaterThan(300);
});

it('the harness sees a receiver lose what it acknowledged too early (control)', async () => {
  const { lost, damage } = await killRounds(5, 'early', seed);
  expect(lost).toBeGreaterThanOrEqual(1);
  expect(damage).toBeNull();
});
