import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtCommit } from '../fakes/built-commit.ts';
import type { Finding, RoughCase } from './rough-case.ts';

/*
 * `npm run test:rough [-- --commit REV] [--point P] [--keep FILE]`: everything that was found wrong in a rough world,
 * asked of the program as it was at a commit (default: as it stands here). One line a case: green or RED, and what was
 * seen. Ends with 1 where one is red. A case is a file in `cases/`.
 */
const args = process.argv.slice(2);
const option = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);

async function ask(each: RoughCase, root: string): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'catalogued-rough-case-'));
  try {
    await using stack = new AsyncDisposableStack();
    return await each.run({ root, directory, stack });
  } catch (error) {
    return { green: false, said: `could not be asked: ${String(error).split('\n').slice(0, 3).join(' ')}` };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const cases: RoughCase[] = [];
for (const name of readdirSync(join(import.meta.dirname, 'cases')).sort()) {
  const { cases: own } = (await import(join(import.meta.dirname, 'cases', name))) as { cases: readonly RoughCase[] };
  cases.push(...own);
}
const only = option('--point');
const root = builtCommit(option('--commit'));
const lines: string[] = [];
let red = 0;
for (const each of cases) {
  if (only !== undefined && each.point.split(' ')[0] !== only && each.point !== only) continue;
  const started = performance.now();
  const { green, said } = await ask(each, root);
  if (!green) red += 1;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  lines.push(`${green ? 'green' : 'RED  '}  ${each.point.padEnd(4)}  ${each.claim}: ${said} (${seconds} s)`);
  process.stdout.write(`${lines.at(-1)}\n`);
}
process.stdout.write(`${lines.length - red} green, ${red} red\n`);
const keep = option('--keep');
if (keep !== undefined) writeFileSync(keep, `${lines.join('\n')}\n`);
process.exitCode = red === 0 ? 0 : 1;
