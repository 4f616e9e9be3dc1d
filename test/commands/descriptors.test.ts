import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { FileFailures } from '../../src/daemon/files.ts';
import { cli } from '../fakes/built-program.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

describe('without file descriptors', () => {
  it('a start says so with the way out, and nothing of permissions', async () => {
    using directory = temporaryDirectory();
    const config = writeTestConfig(directory.path, 'http://127.0.0.1:9', {});
    const command = `ulimit -n 28; exec "${process.execPath}" "${cli}" --config "${config}" run`;
    const child = spawn('sh', ['-c', command], {
      env: { ...process.env, CATALOGUED_API_KEY: 'k' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(stderr).toMatch(/^Error: this process may not open more files and connections/m);
    expect(stderr).toMatch(/^Try: raise the limit: ulimit -n \d+, or LimitNOFILE=\d+/m);
    expect(code).toBe(74);
  });

  it('a daemon lives on, and says it once a minute', async () => {
    await using harness = await virtualHarness({ products: 2 });
    const { log, lines } = testLog('error');
    const { files, writer, sync } = harness.daemon;
    const failures = new FileFailures(files, writer, { ...sync, log });
    let broken = false;
    failures.broken.catch(() => {
      broken = true;
    });
    const thread = Object.assign(new Error('Worker initialization failure: EMFILE'), {
      code: 'ERR_WORKER_INIT_FAILED',
    });
    for (const error of [Object.assign(new Error('open'), { code: 'EMFILE' }), thread]) failures.note('mirror', error);
    await Promise.resolve();
    expect(broken).toBe(false);
    expect(lines().map(({ msg, hint }) => [msg, hint])).toEqual([
      [expect.stringContaining('may not open more files'), expect.stringContaining('LimitNOFILE')],
    ]);
    failures.note('mirror', new Error('anything else'));
    await expect(failures.broken).rejects.toThrow('anything else');
  });
});
