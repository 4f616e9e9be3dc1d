import { instant } from '../../src/clock.ts';
import type { ConditionCode } from '../../src/domain/conditions/table.ts';
import { all, type Habits } from '../../src/sandbox/rough/habits.ts';
import { day, hour, plantedWorld } from './planted-world.ts';

/** Every habit, with enough products that send hostile values or no images. */
const habits: Habits = { ...all, hostile_values: 0.3, images_null: 0.3 };

/** What habits bring about of which a person has to know, and why; nothing else is shown. */
export const expected: Partial<Readonly<Record<ConditionCode, string>>> = {
  'images-refused':
    'hostile_values: addresses on private hosts are published by nobody, and only the service can mend them',
  'prices-refused': 'hostile_values: what costs less than nothing is not sold, and only the service can mend it',
  'records-failing': 'list_end: a list without an end shows what is there, and never what is gone',
  'promise-broken':
    'dates: of a service that answers for whole weeks, an answer without a date says nothing about those that were asked for',
};

/** What they bring about once in weeks, for the same reasons. */
const sometimes: readonly ConditionCode[] = ['other-dates'];

export interface Healthy {
  readonly looks: number;
  /** Conditions that were shown although no habit explains them, with what was said. */
  readonly unexpected: readonly string[];
  /** Those that were shown and expected; each of them was. */
  readonly shown: readonly ConditionCode[];
}

/** Lives for days beside a service with every habit, whose products are edited and closed and opened each day. */
export async function healthyDays(days: number, some: Partial<Habits> = {}): Promise<Healthy> {
  await using world = await plantedWorld({ habits: { ...habits, ...some } });
  const { harness } = world;
  const { schedule, wiring, sandbox } = harness;
  for (let each = 0; each < days * 4; each += 1) {
    const ids = world.ids();
    const [edited = 0, closed = 0] = [ids[each % ids.length], ids[(each + 3) % ids.length]];
    sandbox.world.edit(edited, { field: 'description', value: `as of ${each}` });
    sandbox.world.disable(closed);
    await world.live(2 * hour);
    sandbox.world.enable(closed);
    await world.live(day / 4 - 2 * hour);
  }
  const looks = schedule.list().find(({ name }) => name === 'conditions')?.runs ?? 0;
  // A promise's own periods say of which one what the condition says.
  const periods = wiring.inbox.conditions.flips(instant(0)).filter(({ code }) => !code.startsWith('promise:'));
  const codes = new Set(periods.map(({ code }) => code));
  return {
    looks,
    unexpected: periods
      .filter(({ code }) => !Object.hasOwn(expected, code) && !sometimes.some((each) => each === code))
      .map(({ code, says }) => `${code}: ${says}`),
    shown: (Object.keys(expected) as ConditionCode[]).filter((code) => codes.has(code)),
  };
}
