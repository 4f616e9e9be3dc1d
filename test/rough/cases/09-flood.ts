import { join } from 'node:path';
import { flood } from '../../faults/flood.ts';
import type { RoughCase } from '../rough-case.ts';

export const cases: readonly RoughCase[] = [
  {
    point: '9',
    claim: 'a flood of valid deliveries takes no more of the disk than retention.deliveries_bytes and one group',
    run: async ({ root, directory }) => {
      const config = { retention: { deliveries_bytes: '4MiB' } };
      const ask = (more: Record<string, unknown>) =>
        flood({ cli: join(root, 'dist/cli.js'), directory, ends: { seconds: 6 }, connections: 20, config: more });
      const refused = (error: unknown) => String(error).includes('deliveries_bytes');
      const { acknowledged, file, honest, limited } = await ask(config).then(
        (seen) => ({ ...seen, limited: true }),
        async (error: unknown) => {
          if (!refused(error)) throw error;
          return { ...(await ask({})), limited: false };
        },
      );
      const size = `${(file / 2 ** 20).toFixed(1)} MiB`;
      return {
        green: limited && honest === 200 && file < 24 * 2 ** 20,
        said: `${limited ? 'a budget of 4 MiB' : 'no budget is known'}: ${acknowledged} deliveries took ${size} of disk, an honest one got ${honest}`,
      };
    },
  },
];
