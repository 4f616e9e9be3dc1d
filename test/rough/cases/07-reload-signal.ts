import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, run, start } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

export const cases: readonly RoughCase[] = [
  {
    point: '7',
    claim: 'SIGHUP does not end the daemon',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
      const config = configure(subject, sandbox.url);
      const daemon = start(subject, ['--config', config, 'run']);
      await daemon.said(/daemon (started|runs)|listening|ready/i);
      for (let times = 0; times < 20; times += 1) daemon.child.kill('SIGHUP');
      const status = await run(subject, ['--config', config, 'status', '--json']);
      const alive = daemon.child.exitCode === null && daemon.child.signalCode === null;
      const ended = alive ? 'it goes on' : `it ended with ${daemon.child.signalCode ?? daemon.child.exitCode}`;
      return { green: alive, said: `after 20 × SIGHUP ${ended}; status ${status.code}` };
    },
  },
];
