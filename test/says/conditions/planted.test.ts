import { describe, expect, it } from 'vitest';
import { needs } from '../../fakes/needs.ts';
import { measure } from '../../worlds/conditions.ts';
import { type Planted, planted } from '../../worlds/failures.ts';

const times = (red: Readonly<Record<string, number | null>>) => Object.values(red);
/** The others are left to the strict run. */
const quick = new Set(['service-unreachable']);

/** All in virtual time; `npm run worlds -- conditions` prints the table. */
describe('a planted failure', () => {
  const cases = planted.map((each) => [each.failure, each.code, each] as const);
  const tried = (wanted: boolean) => cases.filter(([, code]) => quick.has(code) === wanted);

  async function isSeen(each: Planted): Promise<void> {
    const { red, green } = await measure(each);
    expect([times(red), times(green)].flat(), JSON.stringify({ red, green })).not.toContain(null);
  }

  it.each(tried(true))('(%s) is seen on status, page, metrics and alerts in its time: %s', async (_, __, each) => {
    await isSeen(each);
  });

  it.each(tried(false))(
    '(%s) is seen on status, page, metrics and alerts in its time: %s',
    needs('time'),
    async (_, __, each) => {
      await isSeen(each);
    },
  );
});
