import { describe, expect, it } from 'vitest';
import { hashOf, pinnedProblems, unfoundedChanges } from './pinned.ts';
import { raised, sizeOf, sizeProblems, sizesOf } from './size.ts';

describe('the size of the repository', () => {
  it('counts a long line as the lines that it would fill, and the same tokens in whatever layout', () => {
    expect(sizeOf('const a = 1;\nconst b = 2;\n')).toEqual({ lines: 2, tokens: 10 });
    expect(sizeOf('const a = 1; const b = 2;')).toEqual({ lines: 1, tokens: 10 });
    // A file that moves into a folder makes nothing larger.
    for (const path of ['./a.ts', '../../b/a.rules.ts'])
      expect(sizeOf(`import { a } from '${path}';`)).toEqual({ lines: 1, tokens: 7 });
    expect(sizeOf(`x${' '.repeat(240)}y`).lines).toBe(3);
  });

  it('counts what moves to another part there, generated files too, and neither the changelog nor findings', () => {
    const files = ['src/a.ts', 'schema/models/a.py', '.rolldown.ts', 'README.md', 'CHANGELOG.md', 'findings/a.sh'];
    expect(Object.keys(sizesOf(files.map((file) => [file, 'a'])))).toEqual(['src', 'schema', 'rest', 'documentation']);
  });

  it('may fall, and not rise: in the texts, nor in the limits', () => {
    const limits = { src: { lines: 1000, tokens: 9000 } };
    const none = { lines: 0, tokens: 0 };
    expect(sizeProblems(limits, { src: { lines: 1000, tokens: 8990 } }, none)).toEqual([]);
    // A loan is for all parts together.
    const more = { src: { lines: 1300, tokens: 9000 }, more: { lines: 260, tokens: 0 } };
    expect(sizeProblems(limits, more)).toEqual([]);
    expect(sizeProblems(limits, { ...more, most: { lines: 1, tokens: 0 } })).toHaveLength(3);
    expect(sizeProblems(limits, { src: { lines: 1001, tokens: 9000 } }, none)).toEqual([
      'src: 1001 lines, and .ci/size.json allows 1000: make something else unnecessary',
    ]);
    expect(
      sizeProblems(limits, { src: { lines: 1000, tokens: 9001 }, more: { lines: 1, tokens: 0 } }, none),
    ).toHaveLength(2);
    expect(sizeProblems(limits, { src: { lines: 900, tokens: 9000 } })).toEqual([
      'src: 900 lines, and .ci/size.json still allows 1000: npm run size -- --lower',
    ]);
    expect(raised([limits, { src: { lines: 900, tokens: 9000 } }])).toEqual([]);
    expect(raised([limits, { src: { lines: 900, tokens: 9000 } }, limits])).toEqual([
      'src: the limit of lines was raised from 900 to 1000',
    ]);
  });
});

describe('the manifest of test/outside', () => {
  it('names what was changed, added and taken away', () => {
    expect(pinnedProblems({ a: '1', b: '2' }, { a: '1', b: '2' })).toEqual([]);
    const problems = pinnedProblems({ a: '1', b: '2' }, { b: '3', c: '4' });
    expect(problems.map((each) => each.split(':')[0])).toEqual([
      'test/outside/a is gone',
      'test/outside/b was changed',
      'test/outside/c is new',
    ]);
  });

  it('lets equipment move, and lets nothing else change', () => {
    const text = "import { runCli } from '../fakes/run-cli.ts';\nexpect(1).toBe(1);\n";
    expect(hashOf(text.replace('../fakes', '../equipment/of'))).toBe(hashOf(text));
    expect(hashOf(text.replace('run-cli.ts', 'ran-cli.ts'))).not.toBe(hashOf(text));
    expect(hashOf(text.replace('toBe(1)', 'toBe(2)'))).not.toBe(hashOf(text));
  });

  it('changes in commits of its own, each with a sentence for users', () => {
    const files = ['test/outside/manifest.json', 'test/outside/fill.test.ts'];
    const founded = { commit: 'a', files: [...files, 'CHANGELOG.md'] };
    expect(unfoundedChanges([founded])).toEqual([]);
    expect(unfoundedChanges([founded, { commit: 'b', files }])).toEqual([
      'b changes what is pinned without a sentence in CHANGELOG.md',
    ]);
    expect(unfoundedChanges([{ commit: 'c', files: [...founded.files, 'src/kernel/clock.ts'] }])).toEqual([
      'c changes what is pinned, and also src/kernel/clock.ts: make it a commit of its own',
    ]);
  });
});
