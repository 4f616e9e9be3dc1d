import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../../src/kernel/errors.ts';
import { commandLine } from '../command-line.ts';

/** What is in a part of the repository. A line longer than 120 characters counts as the lines that it would fill. */
export interface Size {
  readonly lines: number;
  /** Words, numbers and marks: what the same text has in whatever layout. The path of an import counts as one. */
  readonly tokens: number;
}

export type Sizes = Readonly<Record<string, Size>>;

/** As wide as Biome formats: one that is not formatted saves no line by it. */
const width = 120;

export function sizeOf(text: string): Size {
  const lines = text.replace(/\n$/, '').split('\n');
  return {
    lines: lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / width)), 0),
    tokens: text.match(/(?<=from )'\.[^'\n]*'|[\p{L}\p{N}_$]+|[^\s\p{L}\p{N}_$]/gu)?.length ?? 0,
  };
}

/** Parts are counted apart, so that what moves between them saves nothing. A file that is in none of them is in `rest`. */
export function partOf(file: string): string | null {
  const [folder = ''] = file.split('/');
  if (['package-lock.json', 'LICENSE', 'CHANGELOG.md', '.ci/size.json'].includes(file)) return null;
  if (folder === 'findings' || /\.(png|br)$/.test(file)) return null;
  // The tables of faults and guarantees, from which pages of docs/reference/ are made.
  if (/^test\/faults\/.*\.yaml$/.test(file)) return 'documentation';
  if (['src', 'test', 'schema', 'config'].includes(folder)) return folder;
  return file.endsWith('.md') ? 'documentation' : 'rest';
}

/** Sums up files, given as names with their texts. */
export function sizesOf(files: Iterable<readonly [file: string, text: string]>): Sizes {
  const sizes: Record<string, Size> = {};
  for (const [file, text] of files) {
    const part = partOf(file);
    if (part === null) continue;
    const { lines, tokens } = sizeOf(text);
    const before = sizes[part] ?? { lines: 0, tokens: 0 };
    sizes[part] = { lines: before.lines + lines, tokens: before.tokens + tokens };
  }
  return sizes;
}

/** How far all parts together may be above their limits: lent for what makes reads and writes cheaper, and to be paid back. */
const lent = { lines: 560, tokens: 6500 };

/** Names each figure that is above its limit, and each limit that a landing has left far above what is there. */
export function sizeProblems(limits: Sizes, now: Sizes, loan = lent): string[] {
  const parts = Object.entries(now);
  return (['lines', 'tokens'] as const).flatMap((figure) => {
    const limitOf = (part: string) => limits[part]?.[figure] ?? 0;
    const above = parts.reduce((sum, [part, size]) => sum + Math.max(0, size[figure] - limitOf(part)), 0);
    return parts.flatMap(([part, size]) => {
      const limit = limitOf(part);
      const name = `${part}: ${size[figure]} ${figure}`;
      if (size[figure] > limit && above <= loan[figure]) return [];
      if (size[figure] > limit) return [`${name}, and .ci/size.json allows ${limit}: make something else unnecessary`];
      if (size[figure] < limit * 0.995)
        return [`${name}, and .ci/size.json still allows ${limit}: npm run size -- --lower`];
      return [];
    });
  });
}

/** Limits that one of the versions of the file had, given from the oldest, lower than a later one has them. */
export function raised(versions: readonly Sizes[]): string[] {
  return versions.slice(1).flatMap((later, index) =>
    Object.entries(later).flatMap(([part, size]) =>
      (['lines', 'tokens'] as const).flatMap((figure) => {
        const before = versions[index]?.[part]?.[figure];
        return before === undefined || size[figure] <= before
          ? []
          : [`${part}: the limit of ${figure} was raised from ${before} to ${size[figure]}`];
      }),
    ),
  );
}

const root = join(import.meta.dirname, '../..');
const limitsFile = join(root, '.ci/size.json');
const git = (...args: string[]) =>
  execFileSync('git', ['-C', root, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 28,
  });

function* textsHere(): Generator<readonly [string, string]> {
  for (const file of git('ls-files').trim().split('\n')) {
    try {
      yield [file, readFileSync(join(root, file), 'utf8')];
    } catch {
      // It is deleted, and not committed yet.
    }
  }
}

/** Every committed version of the limits, from the oldest. */
function committedLimits(): Sizes[] {
  const commits = git('log', '--format=%h', '--reverse', '--', '.ci/size.json').split('\n').filter(Boolean);
  return commits.map((commit) => JSON.parse(git('show', `${commit}:.ci/size.json`)) as Sizes);
}

if (import.meta.main) {
  const command = commandLine(
    'npm run size --',
    'Counts what is in the repository, and compares it with .ci/size.json. Exit 0: nothing is above its limit.',
    { '': 'as npm run check does', '--lower': 'once a change has made it smaller' },
  )
    .option('--lower', 'write what is there as the limits; none is raised')
    .parse();
  if (!existsSync(join(root, '.git'))) {
    process.stdout.write('Without the history of git nothing is counted\n');
    process.exit(exitCodes.done);
  }
  const limits = JSON.parse(readFileSync(limitsFile, 'utf8')) as Sizes;
  const now = sizesOf(textsHere());
  if (command.opts<{ lower?: true }>().lower) {
    const lower = Object.fromEntries(
      Object.entries(now).map(([part, { lines, tokens }]) => [
        part,
        {
          lines: Math.min(lines, limits[part]?.lines ?? lines),
          tokens: Math.min(tokens, limits[part]?.tokens ?? tokens),
        },
      ]),
    );
    writeFileSync(limitsFile, `${JSON.stringify(lower, null, 2)}\n`);
  } else {
    const problems = [...sizeProblems(limits, now), ...raised([...committedLimits(), limits])];
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    if (problems.length > 0) process.exitCode = exitCodes.no;
  }
}
