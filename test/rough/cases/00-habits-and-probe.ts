import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, run, start } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

export const cases: readonly RoughCase[] = [
  {
    point: 'habits',
    claim: 'the sandbox can be as rough as a file says',
    run: async (subject) => {
      const file = join(subject.directory, 'rough.yaml');
      writeFileSync(file, 'page_size: ignored\n');
      const sandbox = start(subject, ['sandbox', '--products', '20', '--port', '0', '--habits', file]);
      const said = await sandbox.said(/disable\n/).catch((error: unknown) => String(error));
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      if (url === undefined) return { green: false, said: said.split('\n').slice(0, 2).join(' ') };
      const { products } = (await (await fetch(`${url}/v2/products?page_size=100`)).json()) as { products: unknown[] };
      return { green: products.length === 10, said: `100 rows asked for, ${products.length} came` };
    },
  },
  {
    point: 'probe',
    claim: 'a partner can ask the service what we only believe',
    run: async (subject) => {
      const habits = { dates: 'ignored', endpoints: 'specification', images_null: 0.3 } as const;
      const options = { clock: systemClock, seed: 1, products: 60, habits };
      const sandbox = subject.stack.use(await startSandbox(options));
      const config = configure(subject, sandbox.url);
      const { code, stdout, stderr } = await run(subject, ['--config', config, 'probe']);
      const named = ['≠ dates asked for', '≠ GET product', '≠ images', 'product: null'];
      const lacks = named.filter((each) => !stdout.includes(each));
      const said = code === 0 ? `${sandbox.calls.counts().calls} calls` : stderr.split('\n')[0];
      return {
        green: code === 0 && lacks.length === 0,
        said: `exit ${code}, ${said}; not named: ${lacks.join(', ') || 'none'}`,
      };
    },
  },
];
