import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API } from 'typescript/unstable/sync';
import { commandLine } from '../command-line.ts';
import { type StorePlace, StoreSearch } from './stores.ts';

/**
 * Lines of other tests than those of the stores that reach one: by its type, or by a table that is not published. The numbers only
 * fall: lower them with each change that needs fewer.
 */
const most = { type: 523, table: 197 };

const command = commandLine(
  'node test/architecture/reach.ts',
  'Finds the tests other than test/{feed,mirror,receiver}, *.rules and *.store that hold a store of the mirror or the inbox, by any name. Exit 0: no more than before.',
  { '': 'part of npm run check' },
)
  .option('--list', 'print the lines')
  .parse();
const { list } = command.opts<{ list?: true }>();
const root = join(import.meta.dirname, '../..');
const control = 'test/architecture/stores-control.ts';

function search(): StorePlace[] {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProjects: [join(root, 'test/tsconfig.json')] }).getProjects();
    if (project === undefined) throw new Error('test/tsconfig.json cannot be read');
    return new StoreSearch(project, root).places();
  } finally {
    api.close();
  }
}

const all = search();
const controls = all.filter(({ file }) => file === control);
const places = all.filter(({ file }) => file !== control);
const reached = readFileSync(join(root, control), 'utf8')
  .split('\n')
  .flatMap((text, index) => (text.endsWith('// reached') ? [index + 1] : []));
const found = controls.map(({ line }) => line);
const missed = reached.filter((line) => !found.includes(line));
const wrong = found.filter((line) => !reached.includes(line));
const problems = [
  ...missed.map((line) => `${control}:${line}: reaches a store, and is not found`),
  ...wrong.map((line) => `${control}:${line}: reaches no store, and is found`),
];
for (const by of ['type', 'table'] as const) {
  const count = places.filter((place) => place.by === by).length;
  if (count > most[by])
    problems.push(
      `${count} lines of other tests than those of the stores reach one by its ${by}, ${most[by]} before (${command.name()} --list)`,
    );
}
if (list) for (const { file, line, by, text } of places) process.stdout.write(`${file}:${line}: ${by}: ${text}\n`);
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
