import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { main } from '../src/commands/main.ts';
import { configKeys } from '../src/config/json-schema.ts';
import { left } from '../src/config/problems.ts';
import { secretSources } from '../src/config/secrets.ts';
import { exitCodes } from '../src/kernel/errors.ts';
import { untieredResources } from '../src/schedule/resources.rules.ts';
import { allImports, packageOf } from './architecture/import-graph.ts';
import { document, documents, firstColumn, section } from './documents.ts';
import { everyCommand } from './fakes/every-command.ts';
import { guarantees } from './faults/mutations/promises.ts';
import { withReference } from './mirror/contract/generate.ts';

const root = new URL('../', import.meta.url);
const leftNames = Object.keys(left);

async function help(...args: string[]): Promise<string> {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WritableStream;
  await main([...args, '--help'], { stdout: stream, stderr: stream, env: {}, signal: new AbortController().signal });
  return written.join('');
}

/** What each document links to: files, and headings as a forge names them. */
function links(path: string): { file: string; heading: string | undefined }[] {
  return [...document(path).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, file = '', heading]) => ({
    file: file === '' ? path : fileURLToPath(new URL(file, new URL(path, root))).slice(fileURLToPath(root).length),
    heading,
  }));
}

function headings(text: string): string[] {
  return [...text.matchAll(/^#{1,3} (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe('the README', () => {
  it('has at most 900 words', () => {
    expect(document('README.md').split(/\s+/).length).toBeLessThanOrEqual(900);
  });

  it('leads to every document within two clicks', () => {
    const of = (path: string) => links(path).map(({ file }) => file);
    const first = of('README.md');
    const reached = new Set([...first, ...first.filter((file) => documents.includes(file)).flatMap(of)]);
    expect(documents.filter((path) => path !== 'README.md' && !reached.has(path))).toEqual([]);
  });

  it('has five guarantees of the whole list, word by word', () => {
    const [, ...chosen] = section('What you can rely on').matchAll(/^\| (.*?) \|/gm);
    expect(chosen).toHaveLength(5);
    expect(chosen.filter(([, own]) => guarantees.every(({ promise }) => promise !== own))).toEqual([]);
  });
});

describe('the documents', () => {
  it('name every exit code, and no other', () => {
    expect(firstColumn('Exit codes').map(Number)).toEqual(Object.values(exitCodes));
  });

  it('say of every exit code what it means and what to do', () => {
    const rows = [...section('Exit codes').matchAll(/^\| \d.*$/gm)].map(([row]) => row.split(' | '));
    for (const row of rows) expect(row.length, row.join(' | ')).toBe(3);
  });

  it('name every view and column as it is declared (npm run generate)', async () => {
    await expect(withReference(document('docs/reference/columns.md'))).toMatchFileSnapshot(
      '../docs/reference/columns.md',
    );
  });

  it('name only configuration keys, files and headings that exist', () => {
    const keys = new Set(
      configKeys().flatMap(({ name }) =>
        name.split('.').map((_, length, parts) => parts.slice(0, length + 1).join('.')),
      ),
    );
    const named = documents.flatMap((path) =>
      [...document(path).matchAll(/`((?:cadence|service|budget|mirror)\.(?!db`)[a-z_.]+)`/g)].map(
        ([, key = '']) => key,
      ),
    );
    expect(named.length).toBeGreaterThan(10);
    const inChangelog = new Set([...document('CHANGELOG.md').matchAll(/`([a-z_.]+)`/g)].map(([, key = '']) => key));
    expect(named.filter((key) => !keys.has(key) && !(leftNames.includes(key) && inChangelog.has(key)))).toEqual([]);
    expect(leftNames.filter((key) => !inChangelog.has(key))).toEqual([]);
    for (const path of documents)
      for (const { file, heading } of links(path)) {
        expect(() => readFileSync(new URL(file, root)), `${path}: ${file}`).not.toThrow();
        if (heading !== undefined) expect(headings(document(file)), `${path}: ${file}`).toContain(heading);
      }
    expect(documents.flatMap(links).length).toBeGreaterThan(50);
  });

  it('are the only ones that the sources name: anybody with a clone can open them', () => {
    const known = new Set(documents.map((path) => path.replace(/^.*\//, '')));
    const unknownIn = (text: string) =>
      [...text.matchAll(/[\w-]+\.md\b/g)].map(([name]) => name).filter((name) => !known.has(name));
    const sources = ['src/', 'test/'].flatMap((folder) =>
      readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}${name}`),
    );
    const unknown = sources.flatMap((path) => unknownIn(document(path)).map((name) => `${path}: ${name}`));
    const control = 'A stranger.md';
    expect(unknown).toEqual([`test/docs.test.ts: ${unknownIn(control).join()}`]);
  });

  it('say of every resource that is read by a cadence with which key it is set', () => {
    const named = [...section('How often records are read').matchAll(/`cadence\.(\w+)`/g)].map(([, key]) => key);
    expect(untieredResources.filter((resource) => !named.includes(resource))).toEqual([]);
  });

  it('give a reason for every dependency, and for no other', () => {
    const imported = allImports(fileURLToPath(new URL('src/', root)))
      .map(({ of }) => of)
      .filter((name) => !/^node:|\.ts$/.test(name))
      .map(packageOf);
    const rows = section('Dependencies')
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(1);
    const named = rows.flatMap((row) => (row.split('|')[1] ?? '').split(',')).map((name) => name.trim());
    expect(named.sort()).toEqual([...new Set(imported)].sort());
  });
});

it('every command’s help has two examples, unless it only has commands of its own', async () => {
  const few: string[] = [];
  for (const command of await everyCommand()) {
    const text = await help(...command);
    const examples = (text.split('Examples:\n')[1] ?? '').split('\n').filter((line) => line.startsWith('  '));
    if (examples.length < 2 && !/^Commands:$/m.test(text)) few.push(command.join(' '));
  }
  expect(few).toEqual([]);
});

it('SECURITY.md says of every secret where it may come from, and of no other', () => {
  const rows = [...document('SECURITY.md').matchAll(/^\| `(\w+)`.* \| `([\w.]+)` \| `(\w+)` \|$/gm)];
  expect(rows.map(([, name, key, variable]) => [name, { key, variable }])).toEqual(
    Object.entries(secretSources).map(([name, { key, variable }]) => [name, { key, variable }]),
  );
});

it('the top level holds what the card gives, and nothing else', () => {
  const visible = readdirSync(root).filter(
    (name) => !name.startsWith('.') && !['node_modules', 'dist', 'data'].includes(name),
  );
  const files = 'CHANGELOG.md Dockerfile LICENSE README.md SECURITY.md package-lock.json tsconfig.json'.split(' ');
  const folders = 'config docs findings schema src test'.split(' ');
  expect(visible.sort()).toEqual([...files, 'package.json', ...folders].sort());
});
