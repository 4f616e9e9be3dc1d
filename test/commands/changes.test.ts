import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { instant } from '../../src/kernel/clock.ts';
import { Stopped } from '../../src/kernel/errors.ts';
import { cli } from '../fakes/built-program.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { putChanges } from '../fakes/planted.ts';
import { startCli } from '../fakes/run-cli.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const by = { sent_at: instant(Date.parse('2026-11-21T12:00:00Z')), reason: 'cadence-elapsed' } as const;

function harness() {
  const test = testMirror();
  const directory = dirname(dirname(test.path));
  const config = writeTestConfig(directory, 'http://127.0.0.1:1');
  const args = (...more: string[]) => ['--config', config, 'changes', ...more];
  const stop = new AbortController();
  return {
    test,
    config,
    stop,
    args,
    add: (count: number) =>
      putChanges(
        test,
        Array.from({ length: count }, (_, each) => ({
          product_id: 701 + each,
          kind: 'sale_disabled',
          detail: { reason: 'renovation' },
        })),
        by,
      ),
    run: async (...more: string[]) => {
      const io = capturedIo();
      return { code: await main(args(...more), io), out: io.out(), err: io.err() };
    },
    /** The command in this process; it ends with the signal, as SIGINT ends it. */
    start: (...more: string[]) => {
      const io = { ...capturedIo(), signal: stop.signal };
      const ended = main(args(...more), io);
      const lines = () =>
        io
          .out()
          .split('\n')
          .filter((line) => line !== '');
      return {
        ended,
        lines,
        err: io.err,
        said: async (count: number) => {
          while (lines().length < count) await setImmediate();
        },
      };
    },
    [Symbol.dispose]: () => test[Symbol.dispose](),
  };
}

const seqs = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as { seq: number }).seq);

describe('catalogued changes', () => {
  it('prints what is kept, a row a change under headings, or a line of JSON', async () => {
    using at = harness();
    expect(await at.run()).toEqual({ code: 0, err: '', out: '' });
    at.add(3);
    expect((await at.run('--limit', '2')).out).toBe(
      [
        '      seq  found                   product  kind                  of          what',
        '        1  2026-11-21T12:00:00Z        701  sale_disabled         -           {"reason":"renovation"}',
        '        2  2026-11-21T12:00:00Z        702  sale_disabled         -           {"reason":"renovation"}',
        '',
      ].join('\n'),
    );
    const { out } = await at.run('--after', '2', '--json');
    expect(JSON.parse(out)).toEqual({
      seq: 3, at: by.sent_at, product_id: 703, kind: 'sale_disabled', language: null, date: null,
      detail: { reason: 'renovation' },
    }); // biome-ignore format: one row
  });

  it('--follow goes on with what comes, without a daemon, and ends with 0 when it is stopped', async () => {
    using at = harness();
    at.add(2);
    const from = at.start('--follow', '--json', '--after', '1');
    await from.said(1);
    at.add(2);
    at.add(1);
    await from.said(4);
    expect(seqs(from.lines())).toEqual([2, 3, 4, 5]);
    at.stop.abort(new Stopped('SIGINT'));
    expect([await from.ended, from.err()]).toEqual([0, '']);
  });

  it('--follow without a cursor begins with now; with a limit it ends by itself', async () => {
    using at = harness();
    at.add(2);
    const three = at.start('--follow', '--json', '--limit', '3');
    await setImmediate();
    at.add(4);
    expect(await three.ended).toBe(0);
    expect(seqs(three.lines())).toEqual([3, 4, 5]);
  });

  it('as a process ends with 0 on SIGINT, and when nobody reads its pipe any more', async () => {
    using at = harness();
    at.add(2000);
    const following = startCli(at.args('--follow', '--after', '1999'), { cwd: '/' });
    await following.said('2700');
    following.child.kill('SIGINT');
    expect(await following.ended).toMatchObject({ code: 0, stderr: '' });

    const child = spawn(process.execPath, [cli, ...at.args('--json', '--limit', '2000')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let err = '';
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString();
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect([code, err]).toEqual([0, '']);
  });
});
