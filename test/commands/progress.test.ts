import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { main } from '../../src/commands/main.ts';
import { type LiveStatus, whyWaiting } from '../../src/status/daemon-status.ts';
import { known } from '../admin/known-status.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** Runs a daemon until its first sync cycle has ended; returns what it printed. */
async function filledBy(isTTY: boolean): Promise<{ readonly out: string; readonly err: string }> {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 12 });
  const config = join(directory.path, 'catalogued.yaml');
  writeFileSync(config, testConfigText(directory.path, sandbox.url, { budget: { requests_per_second: 30 } }));
  const captured = capturedIo();
  const stop = new AbortController();
  const io = { ...captured, signal: stop.signal, stderr: Object.assign(captured.stderr, { isTTY, columns: 80 }) };
  const ended = main(['--config', config, 'run'], io);
  await expect.poll(captured.out, { timeout: 30_000 }).toMatch(/pass ended/);
  stop.abort();
  expect(await ended).toBe(0);
  return { out: captured.out(), err: captured.err() };
}

describe('a first fill of run', () => {
  it('shows its progress on a terminal in one line, which makes way for the log', async () => {
    const { out, err } = await filledBy(true);
    const lines = err.replaceAll('\r\u001b[K', '\n').split('\n').filter(Boolean);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) expect(line).toMatch(/^filling: \d+ of \d+ records?, .*\d+ products?$/);
    expect(lines.every((line) => line.length < 80)).toBe(true);
    for (const line of out.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('is reported by the log alone through a pipe', async () => {
    const { out, err } = await filledBy(false);
    expect(err).toBe('');
    expect(out).toContain('"msg":"pass ended"');
  });
});

describe('a resync that waits', () => {
  const now = 1_000_000;
  const live = { ...known.daemon, calls_in_flight: 0 } as LiveStatus;
  it.each<[says: string | null, live: Partial<LiveStatus>, next_due_at: number | null]>([
    ['the service refuses the key', { key_refused: 'no', unreachable_since: now - 5000 }, null],
    ['not reachable for 5 s', { unreachable_since: now - 5000 }, now + 9000],
    ['no usable answer for 5 s', { unreachable_since: now - 5000, away: { how: 'unusable', says: '' } }, null],
    ['told to wait 7 s', { not_before: now + 7000 }, now + 9000],
    ['next read in 47 s: what failed or needs a second answer', {}, now + 47_000],
    [null, { calls_in_flight: 1 }, now + 47_000],
    [null, {}, now + 999],
    [null, { not_before: now }, null],
  ])('says %s', (says, more, next_due_at) => {
    expect(whyWaiting({ ...live, ...more }, next_due_at, now)).toBe(says);
  });
});
