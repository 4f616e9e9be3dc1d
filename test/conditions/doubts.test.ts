import { expect, it } from 'vitest';
import { DoubtedService } from '../../src/daemon/conditions/doubts.ts';
import type { Mirroring } from '../../src/daemon/mirroring.ts';

const never = new AbortController().signal;

/** Looks every five seconds for an hour. Returns how many calls were made. */
async function callsInAnHour(away: object | null): Promise<number> {
  let [now, calls] = [0, 0];
  const mirroring = {
    limiter: { state: () => ({ away, told_until: 0, in_flight: 0, waiting: 0, calls }), isInDoubt: () => true },
    ports: { clock: { now: () => now, monotonic: () => now } },
    probe: async () => {
      calls += 1;
    },
  };
  const doubted = new DoubtedService(mirroring as unknown as Mirroring);
  for (; now < 3_600_000; now += 5000) await doubted.ask(never);
  return calls;
}

it('a list that fails alone is asked for about once a minute; while the service is away, only its pauses space the calls', async () => {
  expect(await callsInAnHour(null)).toBeLessThan(70);
  expect(await callsInAnHour({ how: 'unusable', says: '' })).toBe(720);
});
