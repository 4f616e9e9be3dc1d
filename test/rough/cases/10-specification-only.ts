import { systemClock } from '../../../src/clock.ts';
import { type SandboxOptions, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, run, start } from '../program.ts';
import type { RoughCase, Subject } from '../rough-case.ts';

const noSingleReads = { kind: 'status', status: 404, path: '^/v2/products/\\d+(\\?|$)' } as const;
const noExperiences = { kind: 'status', status: 404, path: '^/v2/experiences' } as const;

async function sandboxWith(subject: Subject, options: Partial<SandboxOptions>): Promise<string> {
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 12, ...options }));
  return configure(subject, sandbox.url);
}

export const cases: readonly RoughCase[] = [
  {
    point: '10',
    claim: 'a service with exactly the calls of the specification counts as filled',
    run: async (subject) => {
      const config = await sandboxWith(subject, { faults: [noSingleReads, noExperiences] });
      const resync = await run(subject, ['--config', config, 'resync', '--all', '--wait'], { ms: 30_000 });
      const status = await run(subject, ['--config', config, 'status', '--json']);
      const { filled_at = null, products } = JSON.parse(status.stdout || '{}') as {
        filled_at?: number;
        products?: { visible: number };
      };
      const green = resync.code === 0 && status.code === 0 && filled_at !== null && products?.visible === 12;
      return {
        green,
        said: `resync ends with ${resync.code}, status with ${status.code}; filled: ${filled_at !== null}, ${products?.visible} of 12 products`,
      };
    },
  },
  {
    point: '10',
    claim: 'what the service lacks is said once, with the key to set, and holds up no daemon',
    run: async (subject) => {
      const config = await sandboxWith(subject, { faults: [noSingleReads, noExperiences] });
      const daemon = start(subject, ['--config', config, 'run']);
      const said = await daemon.said(/not offer.*single product|filled/i, 20_000).catch(() => '');
      const doctor = await run(subject, ['--config', config, 'doctor']);
      const key = said.includes('service.profile.paths.product');
      const named = doctor.stdout.includes('service.profile.paths.product');
      return { green: key && named, said: `log names the key: ${key}; doctor names it: ${named}` };
    },
  },
  {
    point: '10',
    claim: 'five products that are really gone are no reason to give the read of a single product up (control)',
    run: async (subject) => {
      const gone = { kind: 'status', status: 404, path: '^/v2/products/100440[1-5](\\?|$)' } as const;
      const config = await sandboxWith(subject, { faults: [gone] });
      await run(subject, ['--config', config, 'resync', '--all', '--wait'], { ms: 30_000 });
      const { stdout } = await run(subject, ['--config', config, 'status']);
      return {
        green: !stdout.includes('not offered'),
        said: stdout.includes('not offered') ? 'given up' : 'still read',
      };
    },
  },
];
