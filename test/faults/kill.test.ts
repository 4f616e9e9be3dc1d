import { expect, it } from 'vitest';
import { thorough } from '../fakes/thorough.ts';
import { killRounds } from './kill.ts';

const kills = thorough ? 30 : 10;
const seed = Number(process.env.CATALOGUED_TEST_SEED ?? 1);

it(`no acknowledged delivery is lost to ${kills} times kill -9 under eight senders (seed ${seed})`, async () => {
  const { acknowledged, lost, damage } = await killRounds(kills, 'honest', seed);
  expect({ lost, damage }).toEqual({ lost: 0, damage: null });
  expect(acknowledged).toBeGreaterThan(kills);
});

it('the harness sees a receiver lose what it acknowledged too early (control)', async () => {
  const { lost, damage } = await killRounds(5, 'early', seed);
  expect(lost).toBeGreaterThanOrEqual(1);
  expect(damage).toBeNull();
});
