import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { compare } from './oracle.ts';
import type { Shown } from './shown.ts';

/*
 * Compares a mirror with a running sandbox: `node test/oracle/compare.ts [--mirror FILE] [--sandbox URL]`.
 * Exit 0: no difference; 1: the first five are printed.
 */

const { values } = parseArgs({
  options: {
    mirror: { type: 'string', default: './data/mirror.db' },
    sandbox: { type: 'string', default: 'http://127.0.0.1:9000' },
    language: { type: 'string', default: 'en' },
    currency: { type: 'string', default: 'EUR' },
  },
});

const { mirror, sandbox, language, currency } = values;
const db = new Database(mirror, { readonly: true });
const ids = (await (await fetch(`${sandbox}/sandbox/products`)).json()) as number[];
const question = `language=${language}&currency=${currency}`;
const state = async (id: number) =>
  (await (await fetch(`${sandbox}/sandbox/state?product_id=${id}&${question}`)).json()) as Shown;
const { differences, first, products, rows } = await compare(db, ids, state, { language, currency, now: Date.now() });
db.close();

const counted = Object.entries(rows).map(
  ([view, count]) => `  ${view.padEnd(22)} ${count.toLocaleString('en-US').padStart(12)} rows`,
);
process.stdout.write(
  `${products.toLocaleString('en-US')} products compared, every column of:\n${counted.join('\n')}\n`,
);
for (const each of first.slice(0, 5)) process.stdout.write(`  ${each}\n`);
process.stdout.write(`${differences.toLocaleString('en-US')} differences\n`);
process.exitCode = differences === 0 ? 0 : 1;
