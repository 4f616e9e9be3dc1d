import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { runMark, startedBy } from './fakes/no-child-outlives.ts';

it('a process that a test starts is found by the run that it belongs to, as long as it lives, and by no other', async () => {
  const run = `${process.env[runMark]}-planted`;
  const child = spawn('sleep', ['60'], { env: { ...process.env, [runMark]: run } });
  await once(child, 'spawn');
  expect(startedBy(run)).toEqual([{ pid: child.pid, command: 'sleep 60' }]);
  expect(startedBy(String(process.env[runMark])).map(({ pid }) => pid)).not.toContain(child.pid);
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(startedBy(run)).toEqual([]);
});
