import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandLine } from '../command-line.ts';
import { builtCommit } from '../fakes/built-commit.ts';
import type { Finding, RoughCase } from './rough-case.ts';

/* Everything that was found wrong in a rough world. A case is a file in `cases/`. */
const {
  commit,
  point: only,
  keep,
} = commandLine(
  'npm run test:rough --',
  'Asks the program for everything that was found wrong in a rough world. Exit 0: no case is red.',
  { '': 'as it stands here', '--commit v0.1.0 --point 5': 'one point, of the program as it was' },
)
  .option('--commit <rev>', 'of the program as it was there')
  .option('--point <p>', 'only the cases of this point')
  .option('--keep <file>', 'write the lines there, too')
  .parse()
  .opts<{ commit?: string; point?: string; keep?: string }>();

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
const root = builtCommit(commit);
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
if (keep !== undefined) writeFileSync(keep, `${lines.join('\n')}\n`);
process.exitCode = red === 0 ? 0 : 1;
