import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { table } from '../../src/commands/terminal/table.ts';
import { commandLine } from '../command-line.ts';
import { typedCopy } from '../contract/typed-copy.ts';
import { document } from '../documents.ts';
import { clients } from './clients.ts';
import { judged } from './judged.ts';

const [given] = commandLine(
  'npm run test:generators --',
  "Prints what people's generators and ORMs make of a mirror, column by column against schema/contract.json. Exit 0: nothing is wrong.",
  { '': 'installs them from npm and PyPI', '/tmp/generators': 'uses those there again' },
)
  .argument('[directory]', 'where they are, or come to stay')
  .parse().args;
const directory = given ?? mkdtempSync(join(tmpdir(), 'generators-'));
mkdirSync(directory, { recursive: true });

// What npm puts before it is the Node of this program, for which their native parts may not be built.
const PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((each) => !each.includes('node_modules'))
  .join(':');
const run = (program: string, args: readonly string[]) =>
  execFileSync(program, args, { cwd: directory, encoding: 'utf8', env: { ...process.env, PATH } });

/** The example of docs/reading.md that begins with the name of its file. */
function example(name: string): string {
  const code = new RegExp(`\`\`\`(?:js|ts)\n(// ${name}\n.*?)\`\`\``, 's').exec(document('docs/reading.md'))?.[1];
  if (code === undefined) throw new Error(`docs/reading.md has no ${name}`);
  return code;
}

using copy = await typedCopy();
cpSync(copy.path, join(directory, 'mirror.db'));
const db = new Database(join(directory, 'mirror.db'));
for (const view of copy.views) db.exec(`DROP VIEW bare_${view}; DROP TABLE typed_${view}`);
db.close();
cpSync(new URL('../../schema', import.meta.url), join(directory, 'schema'), { recursive: true });
for (const name of ['.kysely-codegenrc.cjs', 'drizzle.config.cjs']) writeFileSync(join(directory, name), example(name));
const answers = clients(run, directory).map(({ client, found, tables }) => ({
  client,
  ...judged(found()),
  tables: tables?.() ?? 'none',
}));
const rows = answers.map(({ client, right, wrong, missing, tables }) => [
  client,
  right,
  wrong.length,
  missing.length,
  tables,
]);
process.stdout.write(`${table(['client', 'columns right', 'wrong', 'missing', 'private tables'], rows)}\n`);
for (const { client, wrong } of answers)
  for (const each of wrong.slice(0, 5)) process.stdout.write(`${client}: ${each}\n`);
if (given === undefined) rmSync(directory, { recursive: true });
process.exitCode = answers.some(({ wrong }) => wrong.length > 0) ? 1 : 0;
