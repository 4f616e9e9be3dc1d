import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { section } from '../documents.ts';
import { needs } from '../fakes/needs.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const reader = new URL('../../src/storefront/reader.ts', import.meta.url).href;

/** The README's example in a language, of a mirror at `path`. */
function example(language: string, path: string): string {
  const code = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(section('Read it'))?.[1];
  return (code ?? '').replaceAll('data/mirror.db', path).replace('catalogued-reader', reader);
}

it('the README’s examples in PHP, Python and Node read a mirror', needs('php', 'python3'), () => {
  using test = testMirror();
  putProducts(test, [productOf(703295)]);
  const { path } = test;
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8' });
  expect(run('php', '-r', `${example('php', path)} echo 'read ', $query->columnCount();`)).toBe('read 4');
  expect(run('python3', '-c', `import sqlite3\n${example('python', path)}print('read', len(rows.description))`)).toBe(
    'read 4\n',
  );
  const node = `${example('js', path)}\nconsole.log(reader.product(703295)?.title);`;
  expect(run(process.execPath, '--input-type=module', '-e', node)).toBe('Tower 703295\n');
});
