import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;

type Line = Readonly<Record<string, unknown>>;

async function filled(): Promise<VirtualHarness> {
  const harness = await filledHarness({ products: 2, lean: true }, { scheduling: 'fixed' }, { conditions: true });
  await harness.liveUntil(harness.clock.now() + 2 * minute, 5 * second);
  return harness;
}

/** What the log says of conditions, one line each. */
function said({ log }: Pick<VirtualHarness, 'log'>): string[] {
  return (log.lines() as Line[])
    .filter(({ condition }) => condition !== undefined)
    .map(({ msg, level, condition }) => `${level} ${msg}: ${condition}`);
}

const began = 'warn condition began: service-unreachable';
const ended = 'warn condition ended: service-unreachable';

it('an outage with nothing due is logged and shown within 30 s, with what to do, and its end within 15 s', async () => {
  await using harness = await filled();
  const { clock, sandbox, daemon } = harness;
  const shown = async () => (await daemon.status.shown()).conditions.map(({ code }) => code);
  const before = sandbox.calls.counts().calls;
  await sandbox.setReachable('no');
  await harness.liveUntil(clock.now() + 30 * second, 5 * second);
  expect(said(harness)).toEqual([began]);
  expect(harness.log.lines().at(-1)).toMatchObject({
    says: expect.stringContaining('the connection was refused'),
    hint: expect.stringMatching(/^Check the network/),
  });
  expect(await shown()).toEqual(['service-unreachable']);
  await harness.liveUntil(clock.now() + 5 * minute, 5 * second);
  await sandbox.setReachable('yes');
  await harness.liveUntil(clock.now() + 15 * second, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
  expect(harness.log.lines().at(-1)).toMatchObject({ lasted_ms: expect.toSatisfy((ms) => ms >= 5 * minute) });
  expect(await shown()).toEqual([]);
  // Nothing was asked of the service for it.
  expect(sandbox.calls.counts().calls).toBe(before);
});

it('an outage that a failed check met, with nothing due, ends in the log when it is over', async () => {
  await using harness = await filled();
  const { clock, sandbox, daemon } = harness;
  await sandbox.setReachable('no');
  await harness.drive(daemon.probe(new AbortController().signal));
  await harness.liveUntil(clock.now() + minute, 5 * second);
  expect(said(harness)).toEqual([began]);
  await sandbox.setReachable('yes');
  await harness.liveUntil(clock.now() + 45 * second, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
});

it('an outage that is over is not logged as begun, however long ago it was seen last', async () => {
  await using harness = await filled();
  const { clock, sandbox, daemon } = harness;
  const look = async (after: number) => {
    await harness.drive(clock.sleep(after * second));
    await harness.drive(daemon.conditions.lookForService(daemon.status.shown, new AbortController().signal));
  };
  await sandbox.setReachable('no');
  // Seen at once and after 6 s. The service is back before the next attempt is due, and before 10 s have passed.
  await look(11);
  await look(6);
  await harness.drive(clock.sleep(second));
  await sandbox.setReachable('yes');
  await look(3);
  expect(said(harness)).toEqual([]);
  await look(10);
  expect(said(harness)).toEqual([]);
  // Control: one that lasts is logged once those seconds have passed.
  await sandbox.setReachable('no');
  await look(11);
  await look(6);
  await look(4);
  expect(said(harness)).toEqual([began]);
});

it('a condition that cannot be noted in the inbox is logged once when it begins and once when it ends', async () => {
  await using harness = await filled();
  const { clock, sandbox, daemon } = harness;
  const inbox = new Database(daemon.config.mirror.inbox_path);
  inbox.exec("CREATE TRIGGER refuse BEFORE INSERT ON condition_period BEGIN SELECT RAISE(ABORT, 'refused'); END");
  await sandbox.setReachable('no');
  await harness.liveUntil(clock.now() + 3 * minute, 5 * second);
  await sandbox.setReachable('yes');
  await harness.liveUntil(clock.now() + 2 * minute, 5 * second);
  expect(inbox.prepare('SELECT count(*) FROM condition_period').pluck().get()).toBe(0);
  inbox.close();
  expect(said(harness)).toEqual([began, ended]);
});

it('a condition that goes on over a restart is not announced again, and ends with one line', async () => {
  await using harness = await filled();
  const { clock, sandbox } = harness;
  const from = clock.now();
  await sandbox.setReachable('no');
  await harness.liveUntil(clock.now() + minute, 5 * second);
  await harness.restart();
  await harness.liveUntil(clock.now() + 5 * minute, 5 * second);
  expect(said(harness)).toEqual([began]);
  expect((await harness.daemon.status.shown()).conditions[0]?.since).toBeLessThan(from + minute);
  await sandbox.setReachable('yes');
  await harness.liveUntil(clock.now() + minute, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
});

it('an outage that begins soon after a restart is not the one before it, which had ended', async () => {
  await using harness = await filled();
  const { clock, sandbox } = harness;
  await sandbox.setReachable('no');
  await harness.liveUntil(clock.now() + minute, 5 * second);
  await harness.restart({ meanwhile: () => sandbox.setReachable('yes') });
  await harness.liveUntil(clock.now() + 20 * second, 5 * second);
  const from = clock.now();
  await sandbox.setReachable('no');
  await harness.liveUntil(clock.now() + minute, 5 * second);
  expect(said(harness)).toEqual([began, ended, began]);
  expect((await harness.daemon.status.shown()).conditions[0]?.since).toBeGreaterThanOrEqual(from);
});

it('a condition that ended while no process ran ends with one line after the restart', async () => {
  await using harness = await filled();
  const { clock, sandbox } = harness;
  await sandbox.setReachable('no');
  await harness.liveUntil(clock.now() + minute, 5 * second);
  await harness.restart({ meanwhile: () => sandbox.setReachable('yes') });
  await harness.liveUntil(clock.now() + 5 * minute, 5 * second);
  expect(said(harness)).toEqual([began, ended]);
});
