import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const cases: readonly (readonly [string, readonly FaultRule[], RegExp])[] = [
  [
    'that leaves out rows',
    [
      { kind: 'fewer-rows', path: '^/v2/products\\?.*page=2', rows: 1 },
      { kind: 'fewer-rows', path: '^/v2/products\\?.*page=3', rows: 0 },
    ],
    /the list is incomplete: 5 of 10 products/,
  ],
  [
    'whose rows have product_id instead of id',
    [{ kind: 'renamed', path: '^/v2/products\\?' }],
    /the list is incomplete: 0 of 10 products; 10 rows could not be used: row without id, it has product_id, /,
  ],
];

it.each(cases)(
  'a list %s ends resync with 69, alone and through a daemon, which is not ready and says why',
  async (_, faults, says) => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 10, faults });
    const config = join(directory.path, 'catalogued.yaml');
    const profile = { authorization: { header: null }, page_size: 4 };
    writeFileSync(config, testConfigText(directory.path, sandbox.url, { service: { profile } }));
    const run = (...args: string[]) => runHere(['--config', config, ...args], { cwd: directory.path });
    const refused = {
      code: 69,
      stderr: expect.stringMatching(new RegExp(`^Error: ${says.source}[\\s\\S]*\\nTry: run catalogued probe`, 'im')),
    };
    expect(await run('resync', '--all', '--wait')).toMatchObject(refused);
    expect((await run('status')).stdout).toMatch(new RegExp(`^List +${says.source}`, 'm'));
    const daemon = startCli(['--config', config, 'run'], { cwd: directory.path });
    try {
      await daemon.said('started');
      expect(await run('resync', '--all', '--wait')).toMatchObject(refused);
      expect(await readyz(join(directory.path, 'state', 'admin.sock'))).toBe(503);
      const status = await run('status');
      expect([status.code, status.stdout]).toEqual([
        1,
        expect.stringMatching(new RegExp(`^List +${says.source}`, 'm')),
      ]);
    } finally {
      daemon.child.kill('SIGTERM');
      await daemon.ended;
    }
  },
);

function readyz(socketPath: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: '/readyz' }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}
