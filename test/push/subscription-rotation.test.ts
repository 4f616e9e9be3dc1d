import { describe, expect, it } from 'vitest';
import type { SubscriptionContext } from '../../src/push/subscription.ask.ts';
import { overriding } from '../fakes/overriding.ts';
import { public_url, type SubscriptionHarness, subscriptionHarness } from '../fakes/subscription-harness.ts';
import { announcedTooSoon, changedWithin } from '../receiver/held-addresses.ts';

const never = new AbortController().signal;
const minute = 60_000;
const day = 24 * 60 * minute;
const grace = 7 * day;

class Killed extends Error {}

/** The same context, which ends at the `at`th thing that is done through them: before it takes effect, or after. */
function killable(
  context: SubscriptionContext,
  at: number,
): { context: SubscriptionContext; done(): number; killed(): boolean } {
  let count = 0;
  let dead = false;
  const boundary = () => {
    count += 1;
    dead ||= count === at;
    if (dead) throw new Killed(`killed at ${at}`);
  };
  const around = <Result>(work: () => Result): Result => {
    boundary();
    const result = work();
    boundary();
    return result;
  };
  const { sync, service } = context;
  return {
    done: () => count,
    killed: () => dead,
    context: {
      ...context,
      addresses: changedWithin(context.addresses, around),
      sync: {
        ...sync,
        mirror: overriding(sync.mirror, { transaction: (work) => around(() => sync.mirror.transaction(work)) }),
      },
      service: overriding(service, {
        put: async (...given) => {
          boundary();
          const outcome = await service.put(...given);
          boundary();
          return outcome;
        },
      }),
    },
  };
}

/** Whether a delivery to the address that the service has now would be accepted. */
function reaches(at: SubscriptionHarness): boolean {
  const token = at.service.held.get('all')?.callback_url.slice(public_url.length + 1) ?? '';
  return at.held.accepts(token, at.clock.now());
}

describe('a rotation', () => {
  it('puts the new address first, and accepts the old one for the grace and no longer', async () => {
    await using at = await subscriptionHarness();
    await at.live(minute);
    const old = at.held.token(1);
    expect(await at.work.rotate('all', never)).toEqual([{ subscription_id: 'all', done: true, message: null }]);
    expect(at.service.held.get('all')?.callback_url).toBe(`${public_url}/${at.held.token(2)}`);
    const now = at.clock.now();
    expect(at.held.accepts(old, now + grace - 1)).toBe(true);
    expect(at.held.accepts(old, now + grace)).toBe(false);
  });

  it('is finished after a kill between any two steps, and the service always calls an address that is accepted (W12)', async () => {
    let kills = 0;
    for (let boundary = 1; ; boundary += 1) {
      await using at = await subscriptionHarness();
      await at.live(minute);
      const old = at.held.token(1);
      const given = killable(at.context, boundary);
      const work = at.restart(given.context);
      const rotating = work.rotate('all', never);
      if (!given.killed()) await rotating.catch((error) => expect(error).toBeInstanceOf(Killed));
      else await expect(rotating).rejects.toBeInstanceOf(Killed);
      if (!given.killed()) {
        // Every boundary has been a kill once: two of each begin, PUT and announcement at least, and of the writes.
        expect(kills).toBeGreaterThanOrEqual(10);
        break;
      }
      kills += 1;
      expect(reaches(at), `after kill ${boundary}`).toBe(true);
      expect(at.held.accepts(old, at.clock.now()), `old address after kill ${boundary}`).toBe(true);
      at.restart();
      for (let tick = 0; tick < 3; tick += 1) {
        await at.live(minute);
        expect(reaches(at)).toBe(true);
        expect(at.held.accepts(old, at.clock.now())).toBe(true);
      }
      if (at.held.epochs().length === 1) await at.work.rotate('all', never);
      expect(at.held.epochs().map(({ announced_at }) => announced_at !== null)).toEqual([true, true]);
      expect(at.service.held.get('all')?.callback_url).toBe(`${public_url}/${at.held.token(2)}`);
      await at.live(grace, day);
      expect(at.held.accepts(old, at.clock.now()), 'refused after the grace').toBe(false);
      expect(reaches(at)).toBe(true);
    }
  });

  it('is caught by this harness where it drops the old address before the service has the new one (control)', async () => {
    await using at = await subscriptionHarness();
    await at.live(minute);
    const hasty: SubscriptionContext = { ...at.context, addresses: announcedTooSoon(at.context.addresses) };
    const given = killable(hasty, 5);
    await expect(at.restart(given.context).rotate('all', never)).rejects.toBeInstanceOf(Killed);
    expect(reaches(at)).toBe(false);
  });
});
