import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { main } from '../src/commands/main.ts';
import { configKeys } from '../src/config/keys.ts';
import { exitCodes } from '../src/errors.ts';
import { contract } from './contract/columns.ts';

const root = new URL('../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

async function help(...args: string[]): Promise<string> {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WritableStream;
  await main([...args, '--help'], { stdout: stream, stderr: stream, env: {}, signal: new AbortController().signal });
  return written.join('');
}

/** The first column of a table under a heading: what stands in backticks. */
function documented(heading: string): string[] {
  const section = readme.split(/^#{2,3} /m).find((each) => each.startsWith(heading)) ?? '';
  const cells = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`|^(\d+)$/g)].map(([, code, digits]) => code ?? digits ?? ''),
  );
}

describe('the README', () => {
  it('documents every command that exists, and no other', async () => {
    const listed = [...(await help()).matchAll(/^ {2}(\w+) {2,}\S/gm)]
      .map(([, name]) => name)
      .filter((name) => name !== 'help');
    const words = new Set(documented('Commands').map((command) => command.split(' ')[0]));
    expect([...words].sort()).toEqual(listed.sort());
  });

  it('documents every exit code, and no other', () => {
    expect(documented('Exit codes').map(Number)).toEqual(Object.values(exitCodes));
  });

  it('documents every view, and no other', () => {
    expect(
      documented('Reading the mirror')
        .filter((name) => /^[a-z_]+$/.test(name))
        .sort(),
    ).toEqual(Object.keys(contract.columns).sort());
  });

  it('names only configuration keys and files that exist', () => {
    const keys = new Set(
      configKeys().flatMap(({ name }) =>
        name.split('.').map((_, length, parts) => parts.slice(0, length + 1).join('.')),
      ),
    );
    const named = [...readme.matchAll(/`((?:cadence|service|budget|mirror)\.(?!db`)[a-z_.]+)`/g)].map(
      ([, key = '']) => key,
    );
    expect(named.filter((key) => !keys.has(key))).toEqual([]);
    const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, file = '']) => file);
    expect(links.length).toBeGreaterThan(10);
    for (const file of links) expect(() => readFileSync(new URL(file, root)), file).not.toThrow();
  });

  it('gives a reason for every dependency, and for no other', () => {
    const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const rows = readme.split('| Dependency |')[1]?.split('\n\n')[0]?.split('\n').slice(2) ?? [];
    const named = rows.flatMap((row) => (row.split('|')[1] ?? '').split(',')).map((name) => name.trim());
    expect(named.sort()).toEqual(Object.keys(dependencies).sort());
  });
});

it('every command’s help has two examples', async () => {
  for (const command of [
    ['run'],
    ['demo'],
    ['sandbox'],
    ['resync'],
    ['status'],
    ['explain'],
    ['plan'],
    ['check'],
    ['probe'],
    ['order', 'confirmed'],
    ['order', 'failed'],
    ['removals', 'list'],
    ['removals', 'approve'],
    ['removals', 'reject'],
    ['notifications', 'list'],
    ['notifications', 'show'],
    ['notifications', 'replay'],
    ['subscription', 'list'],
    ['subscription', 'show'],
    ['subscription', 'apply'],
    ['subscription', 'reactivate'],
    ['subscription', 'rotate'],
    ['images', 'audit'],
    ['changes'],
    ['doctor'],
    ['repair'],
    ['config', 'check'],
    ['config', 'show'],
    ['config', 'schema'],
  ]) {
    const examples = (await help(...command)).split('Examples:\n')[1] ?? '';
    expect(
      examples.split('\n').filter((line) => line.startsWith('  ')).length,
      command.join(' '),
    ).toBeGreaterThanOrEqual(2);
  }
});

it('the top level holds what the card gives, and nothing else', () => {
  const visible = readdirSync(root).filter(
    (name) => !name.startsWith('.') && !['node_modules', 'dist', 'data'].includes(name),
  );
  expect(visible.sort()).toEqual(
    [
      'CHANGELOG.md',
      'Dockerfile',
      'README.md',
      'config',
      'package-lock.json',
      'package.json',
      'schema',
      'src',
      'test',
      'tsconfig.json',
    ].sort(),
  );
});
