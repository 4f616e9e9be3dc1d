import { expect, it } from 'vitest';
import { RefusalLog } from '../../src/receiver/receiver.ts';
import { testLog } from '../fakes/test-log.ts';

const minute = 60_000;

function saying() {
  let now = 0;
  const { log, lines } = testLog();
  const whose = { admitted: false, subscription_id: 'norland', epoch: 2 } as const;
  const refusals = new RefusalLog(log, () => now);
  const say = ({ reason, peer }: { reason: 'path' | 'method' | 'token' | 'dropped'; peer: string }) =>
    refusals.note({ reason, caller: peer, ...whose });
  const said = () => lines().map(({ peer, reason, refused }) => [peer, reason, refused]);
  return { say, said, wait: (ms: number) => (now += ms) };
}

it('says one line a peer and minute, and with the next how many there were', () => {
  const { say, said, wait } = saying();
  for (let n = 0; n < 10; n += 1) say({ reason: 'token', peer: '192.0.2.1' });
  say({ reason: 'path', peer: '192.0.2.2' });
  wait(minute);
  say({ reason: 'method', peer: '192.0.2.1' });
  say({ reason: 'method', peer: '192.0.2.1' });
  expect(said()).toEqual([
    ['192.0.2.1', 'token', 1],
    ['192.0.2.2', 'path', 1],
    ['192.0.2.1', 'method', 10],
  ]);
});

it('does not let the use of a dropped address hide among other refusals', () => {
  const { say, said } = saying();
  say({ reason: 'token', peer: '192.0.2.1' });
  say({ reason: 'dropped', peer: '192.0.2.1' });
  say({ reason: 'dropped', peer: '192.0.2.1' });
  expect(said()).toEqual([
    ['192.0.2.1', 'token', 1],
    ['192.0.2.1', 'dropped', 1],
  ]);
});

it('counts a flood from more addresses than it tells apart together, and tells them apart again later', () => {
  const { say, said, wait } = saying();
  const flood = () => {
    for (let n = 0; n < 5000; n += 1) say({ reason: 'token', peer: `2001:db8::${n}` });
  };
  flood();
  expect(said()).toHaveLength(1001);
  expect(said().at(-1)).toEqual(['others', 'token', 1]);
  wait(minute);
  say({ reason: 'token', peer: '2001:db8::4000' });
  expect(said().at(-1)).toEqual(['2001:db8::4000', 'token', 1]);
});
