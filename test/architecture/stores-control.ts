import type { VirtualHarness } from '../fakes/virtual-harness.ts';

/** Ways to a store, marked with `reached`. The check of the stores has to find these lines, and no other one here. */
export function reachStores(harness: VirtualHarness): unknown[] {
  const { mirror } = harness.daemon; // reached
  const { filledAt } = harness.daemon.mirror; // reached
  const {
    mirror: {
      changes: { newest }, // reached
    },
  } = harness.daemon.sync;
  const { inbox: box } = harness.daemon; // reached
  const key = 'inbox';
  hand(harness.daemon[key]); // reached
  hand(mirror); // reached
  const due = 'SELECT due_at FROM _record'; // reached
  const { config, clock } = harness.daemon;
  const names = 'SELECT name FROM products';
  const found = [filledAt, newest, box.path]; // reached
  return [found, due, config.mirror.path, clock.now(), names];
}

const hand = (_: unknown): void => {};
