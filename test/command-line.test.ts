import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import packed from '../package.json' with { type: 'json' };
import { needs } from './fakes/needs.ts';

const programs = Object.entries(packed.scripts).flatMap(([name, line]) => {
  const [, path] = /^node (test\/\S+\.ts)$/.exec(line) ?? [];
  return path === undefined ? [] : [{ name, path }];
});

async function said(...args: string[]) {
  const child = spawn(process.execPath, args, { cwd: new URL('..', import.meta.url) });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}

describe('the command line of programs of the tests', needs('time'), () => {
  it.each(programs)('npm run $name says with --help what it takes, with examples', async ({ name, path }) => {
    const { code, stdout, stderr } = await said(path, '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} -- .*\nExamples:\n  npm run ${name} `, 's'));
  });

  it('an option that it does not know is one line, and 64', async () => {
    const stderr = "Error: unknown option '--no-such'. Try: npm run worlds -- --help\n";
    expect(await said('test/worlds/main.ts', '--no-such')).toEqual({ code: 64, stdout: '', stderr });
  });

  it('a bench that takes no option refuses one too', async () => {
    const stderr = "Error: unknown option '--no-such'. Try: npm run bench -- refusals --help\n";
    expect(await said('test/bench/main.ts', 'refusals', '--no-such')).toEqual({ code: 64, stdout: '', stderr });
  });
});

it('the entry points are among the programs of the tests that are asked', () => {
  expect(programs.map(({ name }) => name)).toEqual(expect.arrayContaining(['bench', 'faults', 'graph']));
});
