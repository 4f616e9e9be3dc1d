import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../architecture/import-graph.ts';
import { cli } from '../fakes/built-program.ts';
import { putProducts } from '../fakes/stored-products.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { townEntries } from './relevance/entries.ts';

const root = join(import.meta.dirname, '../..');
const run = (script: string, ...args: string[]) =>
  execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', script, ...args], { encoding: 'utf8' });

/** A mirror that nobody of this process has open. */
function snapshot(): Disposable & { readonly path: string } {
  const directory = temporaryDirectory();
  const path = join(directory.path, 'mirror.db');
  using test = testMirror();
  putProducts(test, townEntries());
  test.reader.prepare('VACUUM INTO ?').run(path);
  return { path, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

/** Prints what a reader answers, by Node's own SQLite or by better-sqlite3. */
const answers = (from: string) => `
import { createRequire } from 'node:module';
const { openReader } = ${from};
const [path, library] = process.argv.slice(1);
const engine = library === 'better-sqlite3' ? createRequire(${JSON.stringify(join(root, 'package.json'))})(library) : undefined;
const codeOf = (call) => { try { call(); return 'none'; } catch (error) { return error.code; } };
const reader = openReader(path, { engine });
const { hits, ...found } = reader.search({ text: 'museum amsterdm', facets: true });
const answers = [
  hits, found, reader.search({ city_id: 4, order: 'price', near: { latitude: 52, longitude: 5, km: 900 } }), reader.exact({ text: 'muse' }),
  reader.product(hits[0].product_id), reader.product(9999), reader.products({ limit: 3 }), reader.calendar(1, { from: '2026-12-01', to: '2026-12-03' }),
  reader.slots(1, '2026-12-01'), reader.images(1), reader.cities(), reader.newest(), reader.policies(), reader.transaction(() => reader.variants(1)),
  codeOf(() => reader.search({ city_id: 12345 })), codeOf(() => openReader(path + '.none', { engine })), codeOf(() => openReader(process.execPath, { engine })),
  codeOf(() => reader.transaction(async () => 1)),
];
reader.close();
console.log(JSON.stringify([...answers, codeOf(() => reader.product(1)), Object.getPrototypeOf(hits[0]) === Object.prototype]));`;

const source = `await import(${JSON.stringify(join(root, 'src/storefront/reader.ts'))})`;

describe('the reader', () => {
  it('answers and fails by SQLite of Node as by better-sqlite3', () => {
    using file = snapshot();
    const [own, other] = ['node:sqlite', 'better-sqlite3'].map((library) => run(answers(source), file.path, library));
    expect(own).toBe(other);
    expect(JSON.parse(own ?? '').slice(-6)).toEqual([
      'bad-argument',
      'no-mirror',
      'foreign-file',
      'bad-argument',
      'closed',
      true,
    ]);
  });

  it('of the package is one file without dependencies, as a module and for require, below 400 kB with its types', () => {
    const folder = join(dirname(cli), 'reader');
    using types = temporaryDirectory();
    execFileSync(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      join(root, '.types.json'),
      '--outDir',
      types.path,
    ]);
    const sizeOf = (path: string) =>
      readdirSync(path, { recursive: true, encoding: 'utf8' }).reduce(
        (sum, name) => sum + statSync(join(path, name)).size,
        0,
      );
    expect(sizeOf(folder) + sizeOf(types.path)).toBeLessThan(400_000);
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies');
    for (const name of ['index.mjs', 'index.cjs'])
      expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(
        /(?:from |import\(|require\()["'](?!node:(?!sqlite))/,
      );
    // Over HTTP it runs where there is no Node.
    for (const name of ['http.mjs', 'http.cjs'])
      expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(/\b(?:from|import|require)\b *\(?["']|process\./);
    using file = snapshot();
    const asModule = run(
      answers(`await import(${JSON.stringify(join(folder, 'index.mjs'))})`),
      file.path,
      'node:sqlite',
    );
    const required = run(
      answers(`createRequire(${JSON.stringify(`${folder}/`)})('./index.cjs')`),
      file.path,
      'node:sqlite',
    );
    expect([asModule, required]).toEqual([run(answers(source), file.path, 'node:sqlite'), asModule]);
  });
});

/** Begins a write, has a reader open and close the file by a library, has another process write, and commits. */
const writer = `
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
const [path, library] = process.argv.slice(1);
const Database = createRequire(${JSON.stringify(join(root, 'package.json'))})('better-sqlite3');
const db = new Database(path);
db.exec('PRAGMA journal_mode = WAL; CREATE TABLE written (by); BEGIN IMMEDIATE');
db.exec("INSERT INTO written VALUES ('this process')");
const reader = library === 'node:sqlite' ? new DatabaseSync(path, { readOnly: true }) : new Database(path, { readonly: true });
reader.prepare('SELECT count(*) FROM written').get();
reader.close();
const other = "const db = new (require('node:sqlite').DatabaseSync)(process.argv[1]); try { db.exec(\\"INSERT INTO written VALUES ('another')\\") } catch {}";
spawnSync(process.execPath, ['--no-warnings', '-e', other, path]);
db.exec('COMMIT');
db.close();
const after = new Database(path, { readonly: true });
console.log(JSON.stringify([after.prepare('SELECT by FROM written').pluck().all(), after.pragma('integrity_check', { simple: true })]));`;

describe('two SQLite libraries on one file in one process', () => {
  it('lose a commit of an intact file, where one library loses none (control)', () => {
    using directory = temporaryDirectory();
    const by = (library: string) =>
      JSON.parse(run(writer, join(directory.path, `${library.replace(':', '-')}.db`), library));
    expect(by('better-sqlite3')).toEqual([['this process'], 'ok']);
    expect(by('node:sqlite')).toEqual([['another'], 'ok']);
  });

  it('are nowhere in the program: only the reader knows the one of Node, and whatever opens a reader passes the other in', () => {
    const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
    const files = ['src', 'test'].flatMap((folder) =>
      sourceFiles(join(root, folder)).map((file) => `${folder}/${file}`),
    );
    const opening = files.filter((file) => /(?<!\.)\bopenReader\(/.test(textOf(file)) && file.startsWith('src/'));
    expect(files.filter((file) => file.startsWith('src/') && textOf(file).includes('node:sqlite'))).toEqual([
      'src/storefront/engine.ts',
    ]);
    for (const file of opening.filter((name) => !name.startsWith('src/storefront/')))
      expect(textOf(file), file).toMatch(/engine: (?:clock\.engine\()?sqliteLibrary/);
    const bare = /import \{[^}]*\bopenReader\b[^}]*\} from '[./]*src\/storefront\/reader\.ts'/;
    expect(files.filter((file) => file.startsWith('test/') && bare.test(textOf(file)))).toEqual([
      'test/fakes/reader.ts',
    ]);
  });
});
