import { spawn } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { instant, systemClock } from '../../src/clock.ts';
import { main } from '../../src/commands/main.ts';
import { Stopped } from '../../src/errors.ts';
import { cli } from '../fakes/built-program.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { pruneChanges, putChanges } from '../fakes/planted.ts';
import { startCli } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const by = { sent_at: instant(Date.parse('2026-11-21T12:00:00Z')), reason: 'cadence-elapsed' } as const;

function harness() {
  const test = testMirror();
  const directory = dirname(dirname(test.path));
  const config = join(directory, 'catalogued.yaml');
  writeFileSync(config, testConfigText(directory, 'http://127.0.0.1:1'));
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

  it('ends with 65 for a cursor that the feed cannot answer, and with 64 for nonsense', async () => {
    using at = harness();
    at.add(3);
    pruneChanges(at.test, instant(by.sent_at + 1));
    expect(await at.run('--after', '2')).toMatchObject({
      code: 65,
      err: expect.stringMatching(/^Error: changes up to 3 are forgotten, and 2 lies before them\nTry: .*after 3\n$/),
    });
    expect(await at.run('--after', '4', '--follow')).toMatchObject({
      code: 65,
      err: expect.stringContaining('there is no change 4'),
    });
    expect(await at.run('--after', '3')).toEqual({ code: 0, err: '', out: '' });
    for (const wrong of ['-1', 'x', '1.5']) expect((await at.run('--after', wrong)).code).toBe(64);
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

  it('--follow reads on in the file that replaces the one it has open, as a snapshot does', async () => {
    using at = harness();
    at.add(2);
    const published = join(dirname(at.config), 'published.db');
    const publish = () => {
      at.test.reader.prepare('VACUUM INTO ?').run(`${published}.new`);
      renameSync(`${published}.new`, published);
    };
    publish();
    const mirror = { path: published, state_dir: join(dirname(at.config), 'state') };
    writeFileSync(at.config, testConfigText(dirname(at.config), 'http://127.0.0.1:1', { mirror }));
    const follower = at.start('--follow', '--json', '--after', '0');
    await follower.said(2);
    at.add(2);
    publish();
    await follower.said(4);
    at.stop.abort(new Stopped('SIGINT'));
    expect([await follower.ended, follower.err(), seqs(follower.lines())]).toEqual([0, '', [1, 2, 3, 4]]);
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

  it.each<[string, number]>([
    ['while more is printed than the pipe holds', 5000],
    ['with a later change', 1],
  ])('--follow into a head that has left ends quietly with 0 %s', async (_, before) => {
    using at = harness();
    at.add(before);
    const shell = '{ "$@"; echo "ended with $?" >&2; } | head -n 1';
    const command = [process.execPath, cli, ...at.args('--follow', '--json', '--after', '0')];
    const child = spawn('sh', ['-c', shell, 'sh', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString();
    });
    let ended = false;
    child.on('close', () => {
      ended = true;
    });
    // Only a write notices that nobody reads the pipe any more.
    while (!ended) {
      await systemClock.sleep(50);
      if (out !== '') at.add(1);
    }
    expect([seqs(out.trimEnd().split('\n')), err]).toEqual([[1], 'ended with 0\n']);
  });
});
