import { join } from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { configure, run } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

export const cases: readonly RoughCase[] = [
  {
    point: '12',
    claim: 'a resync of a product brings its price in every currency, and says when it was read',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
      const service = { currencies: ['EUR', 'USD'], profile: { authorization: { header: null } } };
      const config = configure(subject, sandbox.url, { service });
      const cli = (...args: string[]) => run(subject, ['--config', config, ...args]);
      await cli('resync', '--all', '--wait');
      const product = sandbox.products().find(({ status }) => status === 'available');
      if (product === undefined) throw new Error('nothing is on sale');
      const prices = () => {
        const db = new Database(join(subject.directory, 'mirror/mirror.db'), { readonly: true });
        const rows = db
          .prepare<[number], Record<string, unknown>>('SELECT * FROM product_prices WHERE product_id = ?')
          .all(product.id);
        db.close();
        return rows;
      };
      const priceIn = (currency: string) => Number(prices().find((row) => row.currency === currency)?.from_price);
      const before = priceIn('USD');
      product.price *= 2;
      await cli('resync', '--product', String(product.id), '--wait');
      const times = priceIn('USD') / before;
      const dated = prices().every((row) => Number(row.checked_at) > 0);
      const said = `${times.toFixed(2)} × what it was, in EUR 2 ×; when it was read ${dated ? 'is said' : 'is not said'}`;
      return { green: times > 1.9 && dated, said: `USD is ${said}` };
    },
  },
];
