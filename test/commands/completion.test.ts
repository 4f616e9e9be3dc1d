import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { runHere } from '../fakes/run-here.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

describe('completion in bash', () => {
  let script = '';
  beforeAll(async () => {
    script = (await runHere(['completion', 'bash'])).stdout;
  });

  /** What bash offers for the last word of a line. */
  function offered(...words: string[]): string[] {
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _catalogued; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['--norc', '-c', `${script}\n${ask}`, 'bash', ...words], { encoding: 'utf8' })
      .trim()
      .split('\n');
  }

  it.each([
    [['catalogued', 'sub'], ['subscription']],
    [
      ['catalogued', 'subscription', 'r'],
      ['reactivate', 'rotate'],
    ],
    [
      ['catalogued', '--config', 'my.yaml', 'config', 's'],
      ['show', 'schema'],
    ],
    [['catalogued', 'backup', '--l'], ['--list']],
    [['catalogued', 'completion', ''], expect.arrayContaining(['bash', 'zsh'])],
    [['catalogued', 'nonsense', 'stat'], ['status']],
    // Files, by the shell itself.
    [['catalogued', '--config', ''], ['']],
    [['catalogued', 'restore', 'dir'], ['']],
  ])('offers what may follow: %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });
});

it('completion in zsh completes a command and its option with the tabulator', needs('zsh'), async () => {
  using directory = temporaryDirectory();
  const script = join(directory.path, '_catalogued');
  writeFileSync(script, (await runHere(['completion', 'zsh'])).stdout);
  const session = `
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z 'PS1=; autoload -Uz compinit; compinit -D -u; source ${script}; print rea""dy'
    zpty -r z said '*ready*'
    zpty -w -n z $'catalogued bug\\t--rec\\t'
    zpty -r z said '*--record*'
    print -r -- $said`;
  const said = execFileSync('zsh', ['-f', '-c', session], {
    encoding: 'utf8',
    env: { ...process.env, TERM: 'dumb' },
  });
  expect(said).toMatch(/bugreport.*--record/s);
});

it('completion of another shell is refused with those there are', async () => {
  expect(await runHere(['completion', 'fish'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('bash, zsh'),
  });
});
