import { dirname, join } from 'node:path';
import { type Instant, instant } from '../../src/kernel/clock.ts';
import type { CallbackAddresses } from '../../src/receiver/addresses.store.ts';
import { openInbox } from '../../src/receiver/inbox.ts';
import { overriding } from '../fakes/overriding.ts';

/** The callback addresses of an inbox beside a mirror, and what tests ask of those of the subscription `all`. */
export function heldAddresses(mirror_path: string, now: Instant) {
  const inbox = openInbox(join(dirname(mirror_path), 'inbox.db'), { master: { reveal: () => 'master' }, now });
  const { addresses } = inbox;
  return {
    addresses,
    token: (epoch: number) => addresses.token('all', epoch),
    epochs: () => addresses.states(),
    /** Whether a delivery with this token would be taken at an instant. */
    accepts: (token: string, at: number) =>
      (addresses.recognise(token, instant(at))?.standing ?? 'dropped') !== 'dropped',
    [Symbol.dispose]: () => inbox[Symbol.dispose](),
  };
}

/** Returns the same addresses, each change of which is made within `around`. */
export function changedWithin(addresses: CallbackAddresses, around: <Result>(work: () => Result) => Result) {
  return overriding(addresses, {
    begin: (id, now) => around(() => addresses.begin(id, now)),
    announced: (...given) => around(() => addresses.announced(...given)),
  });
}

/** Returns addresses that count as announced as soon as they are begun. */
export function announcedTooSoon(addresses: CallbackAddresses) {
  return overriding(addresses, {
    begin: (id, now) => {
      const epoch = addresses.begin(id, now);
      addresses.announced(id, epoch, now, 0);
      return epoch;
    },
  });
}
