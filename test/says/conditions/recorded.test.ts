import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/service/outcome.ts';
import { type VirtualHarness, virtualHarness } from '../../fakes/virtual-harness.ts';

const minute = 60_000;
const never = new AbortController().signal;
const away: Outcome = { kind: 'unreachable', code: 'connection-refused', message: 'connection refused' };

/** A daemon that has not reached its service for longer than a minute. */
async function unreachable(): Promise<VirtualHarness> {
  const harness = await virtualHarness({ products: 2, lean: true }, {}, { conditions: true });
  const { limiter } = harness.daemon;
  await harness.clock.advance(1_234);
  await harness.drive(limiter.run(async () => away, never, 'near'));
  await harness.clock.advance(2 * minute);
  return harness;
}

/** Runs the job that records conditions, and returns why it failed. */
async function look({ drive, daemon: { schedule } }: VirtualHarness): Promise<string | null | undefined> {
  return (await drive(schedule.run('conditions')))?.failure;
}

it('an outage is recorded as a condition, with the whole millisecond at which it began', async () => {
  await using harness = await unreachable();
  const { unreachable_since } = harness.daemon.limiter.pause();
  expect(await look(harness)).toBeNull();
  const [period] = harness.daemon.inbox.conditions.open().filter(({ code }) => code === 'service-unreachable');
  expect(period?.began_at).toBe(unreachable_since);
  expect(unreachable_since).toSatisfy(Number.isInteger);
});

it('a condition that cannot be recorded is logged, the daemon goes on, and the next look records it', async () => {
  await using harness = await unreachable();
  const inbox = new Database(harness.daemon.config.mirror.inbox_path);
  inbox.exec("CREATE TRIGGER refuse BEFORE INSERT ON condition_period BEGIN SELECT RAISE(ABORT, 'refused'); END");
  expect(await look(harness)).toBe('refused');
  expect(harness.log.lines()).toContainEqual(expect.objectContaining({ msg: 'conditions cannot be recorded' }));
  inbox.exec('DROP TRIGGER refuse');
  inbox.close();
  expect(await look(harness)).toBeNull();
  expect(harness.daemon.inbox.conditions.open().map(({ code }) => code)).toContain('service-unreachable');
  // Rejects with what would have ended the daemon.
  await harness.runDue();
});
