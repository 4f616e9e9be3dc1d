import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { cli } from '../fakes/built-program.ts';
import { needs } from '../fakes/needs.ts';
import { runMark } from '../fakes/no-child-outlives.ts';

const local = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Types answers on a pseudo terminal, each when its question stands there. */
function typed(...answers: readonly string[]): { readonly code: number; readonly seen: string } {
  const questions = ['(https://…): ', 'brand: ', 'later): '];
  const keys = JSON.stringify(answers.map((answer, index) => [questions[index], answer]));
  const program = [process.execPath, cli, 'service', 'install'];
  const { stdout, stderr } = spawnSync('python3', [local('../fakes/on-terminal.py'), keys, ...program], {
    encoding: 'utf8',
    env: { ...process.env, [runMark]: process.env[runMark] },
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { code: number; seen: string };
}

describe('the questions of service install on a terminal', needs('python3', 'time'), () => {
  const address = 'https://tickets.example\r';

  it('are three, and a key file that cannot be read is refused before anything is written', () => {
    const { code, seen } = typed(address, 'Norland\r', '/nowhere/key\r');
    expect([code, seen]).toEqual([78, expect.stringContaining('cannot read /nowhere/key: ENOENT')]);
    expect(seen).not.toContain('wrote');
  });

  it('refuse an address that is none, in one line', () => {
    const { code, seen } = typed('nonsense\r', 'Norland\r', '\r');
    expect([code, seen]).toEqual([78, expect.stringContaining('service.base_url: found "nonsense"')]);
  });

  it.each([
    ['Ctrl-C at the first', ['\u0003']],
    ['Ctrl-C at the last', [address, 'Norland\r', '\u0003']],
    ['Ctrl-D', ['\u0004']],
  ])('end with %s: nothing is installed, and no stack is shown', (_, answers) => {
    const { code, seen } = typed(...answers);
    expect([code, seen]).toEqual([64, expect.stringContaining('Error: not answered: nothing was installed')]);
    expect(seen).not.toMatch(/^ {4}at /m);
  });

  // Where systemd runs, root would install it.
  it('are enough: what is refused then is the machine', ({ skip }) => {
    skip(existsSync('/run/systemd/system'));
    expect(typed(address, 'Norland\r', '\r').seen).toContain('this machine does not run systemd');
  });
});
