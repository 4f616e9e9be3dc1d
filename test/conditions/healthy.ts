import { all } from '../../src/sandbox/rough/habits.ts';
import { day, hour, plantedWorld } from './planted-world.ts';

/**
 * But for those by which a promise is really broken, and of which a person has to know: negative prices and images on
 * private hosts, a list without an end, images that no read shows, and answers that leave out asked dates.
 */
const harmless = { ...all, hostile_values: 0, list_end: 'ends', images_null: 0, dates: 'honoured' } as const;

export interface Healthy {
  readonly looks: number;
  /** Conditions that were shown, with what was said. */
  readonly shown: readonly string[];
}

/** Lives for days beside a service with every habit, whose products are edited and closed and opened each day. */
export async function healthyDays(days: number): Promise<Healthy> {
  await using world = await plantedWorld({ habits: harmless });
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
  return { looks, shown: wiring.inbox.conditions.flips(0).map(({ code, says }) => `${code}: ${says}`) };
}
