import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, run, start } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

export const cases: readonly RoughCase[] = [
  {
    point: '13 snapshot',
    claim: 'a snapshot whose directory is missing is an alarm, at once and not after two periods',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 3 }));
      const path = join(subject.directory, 'published', 'mirror.db');
      const config = configure(subject, sandbox.url, { snapshot: { every: '1h', path } });
      mkdirSync(join(subject.directory, 'published'));
      const first = start(subject, ['--config', config, 'run']);
      await first.said(/snapshot published/);
      first.child.kill('SIGTERM');
      await first.ended;
      const gone = join(subject.directory, 'gone', 'mirror.db');
      const moved = configure(subject, sandbox.url, { snapshot: { every: '1h', path: gone } });
      const daemon = start(subject, ['--config', moved, 'run']);
      await daemon.said(/snapshot failed/);
      const { code, stdout } = await run(subject, ['--config', moved, 'status', '--json']);
      const { alarms } = JSON.parse(stdout) as { alarms: { kind: string }[] };
      const kinds = alarms.map(({ kind }) => kind).join(', ');
      return { green: code === 1 && kinds.includes('snapshot'), said: `status ${code}, alarms: ${kinds || 'none'}` };
    },
  },
];
