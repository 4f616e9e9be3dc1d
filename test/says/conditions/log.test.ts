import { expect, it } from 'vitest';
import { filledHarness, type VirtualHarness } from '../../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;

type Line = Readonly<Record<string, unknown>>;

async function filled(): Promise<VirtualHarness> {
  const harness = await filledHarness({ products: 2, lean: true }, { scheduling: 'fixed' }, { conditions: true });
  await harness.live(2 * minute, 5 * second);
  return harness;
}

/** What the log says of conditions, one line each. */
function said({ log }: VirtualHarness): string[] {
  return (log.lines() as Line[])
    .filter(({ condition }) => condition !== undefined)
    .map(({ msg, level, condition }) => `${level} ${msg}: ${condition}`);
}

const began = 'warn condition began: service-unreachable';
const ended = 'warn condition ended: service-unreachable';

it('an outage with nothing due is logged and shown within 30 s, with what to do, and its end within 15 s', async () => {
  await using harness = await filled();
  const { sandbox, daemon } = harness;
  const shown = async () => (await daemon.status.shown()).conditions.map(({ code }) => code);
  const before = sandbox.calls.counts().calls;
  await sandbox.setReachable('no');
  await harness.live(30 * second, 5 * second);
  expect(said(harness)).toEqual([began]);
  expect(harness.log.lines().at(-1)).toMatchObject({
    says: expect.stringContaining('the connection was refused'),
    hint: expect.stringMatching(/^Check the network/),
  });
  expect(await shown()).toEqual(['service-unreachable']);
  await harness.live(5 * minute, 5 * second);
  await sandbox.setReachable('yes');
  await harness.live(15 * second, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
  expect(harness.log.lines().at(-1)).toMatchObject({ lasted_ms: expect.toSatisfy((ms) => ms >= 5 * minute) });
  expect(await shown()).toEqual([]);
  // Nothing was asked of the service for it.
  expect(sandbox.calls.counts().calls).toBe(before);
});

it('an outage that a failed check met, with nothing due, ends in the log when it is over', async () => {
  await using harness = await filled();
  const { sandbox, daemon } = harness;
  await sandbox.setReachable('no');
  await harness.drive(daemon.probe(new AbortController().signal));
  await harness.live(minute, 5 * second);
  expect(said(harness)).toEqual([began]);
  await sandbox.setReachable('yes');
  await harness.live(45 * second, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
});

it('a condition that goes on over a restart is not announced again, and ends with one line', async () => {
  await using harness = await filled();
  const { clock, sandbox } = harness;
  const from = clock.now();
  await sandbox.setReachable('no');
  await harness.live(minute, 5 * second);
  await harness.restart();
  await harness.live(5 * minute, 5 * second);
  expect(said(harness)).toEqual([began]);
  expect((await harness.daemon.status.shown()).conditions[0]?.since).toBeLessThan(from + minute);
  await sandbox.setReachable('yes');
  await harness.live(minute, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
});
