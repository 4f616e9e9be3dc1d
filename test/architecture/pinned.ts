import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes } from '../../src/kernel/errors.ts';
import { commandLine } from '../command-line.ts';

/** The files of test/outside, each with a hash of its text: what users have stays as it is while the inside changes. */
export type Pinned = Readonly<Record<string, string>>;

/** Hashes a file, whatever folder it finds its equipment in: moving equipment changes no promise. */
export function hashOf(text: string): string {
  return createHash('sha256')
    .update(text.replace(/(?<=(?:\bfrom|\bimport\(?) ?')\.[^']*\/(?=[^/']+')/g, ''))
    .digest('hex')
    .slice(0, 16);
}

/** Names each file that is not as it was pinned. */
export function pinnedProblems(pinned: Pinned, now: Pinned): string[] {
  const names = [...new Set([...Object.keys(pinned), ...Object.keys(now)])].sort();
  return names.flatMap((name) => {
    if (pinned[name] === now[name]) return [];
    const what = now[name] === undefined ? 'is gone' : pinned[name] === undefined ? 'is new' : 'was changed';
    return [`test/outside/${name} ${what}: what users have is pinned. Where that is meant: npm run pinned -- --write`];
  });
}

/** A commit that changes the manifest, with all the files that it changes. */
export interface PinnedCommit {
  readonly commit: string;
  readonly files: readonly string[];
}

/** Names each commit that changes what is pinned beside something else, or without a sentence for users. */
export function unfoundedChanges(commits: readonly PinnedCommit[]): string[] {
  return commits.flatMap(({ commit, files }) => {
    const other = files.find(
      (file) => !/^(test\/outside\/|CHANGELOG\.md$|docs\/promises\.md$|\.ci\/size\.json$)/.test(file),
    );
    if (other !== undefined)
      return [`${commit} changes what is pinned, and also ${other}: make it a commit of its own`];
    return files.includes('CHANGELOG.md')
      ? []
      : [`${commit} changes what is pinned without a sentence in CHANGELOG.md`];
  });
}

const root = join(import.meta.dirname, '../..');
const outside = join(root, 'test/outside');
const manifest = 'manifest.json';

function filesNow(): Pinned {
  const names = readdirSync(outside, { recursive: true, encoding: 'utf8' }).sort();
  const pinned = names.filter((name) => /\.\w+$/.test(name) && name !== manifest);
  return Object.fromEntries(pinned.map((name) => [name, hashOf(readFileSync(join(outside, name), 'utf8'))]));
}

/** Commits that change the manifest after the one that began it; none where the history is not there. */
function commitsOfManifest(): PinnedCommit[] {
  const log = execFileSync('git', ['-C', root, 'log', '--reverse', '--format=%h', '--', `test/outside/${manifest}`], {
    encoding: 'utf8',
  });
  const [, ...later] = log.split('\n').filter(Boolean);
  return later.map((commit) => {
    const shown = execFileSync('git', ['-C', root, 'show', '--format=', '--name-only', commit], { encoding: 'utf8' });
    return { commit, files: shown.split('\n').filter(Boolean) };
  });
}

if (import.meta.main) {
  const command = commandLine(
    'npm run pinned --',
    'Compares test/outside with its manifest. Exit 0: what users have is pinned as it was.',
    { '': 'as npm run check does', '--write': 'in a commit of its own, with a sentence in CHANGELOG.md' },
  )
    .option('--write', 'pin what is there')
    .parse();
  if (command.opts<{ write?: true }>().write)
    writeFileSync(join(outside, manifest), `${JSON.stringify(filesNow(), null, 2)}\n`);
  else {
    const pinned = JSON.parse(readFileSync(join(outside, manifest), 'utf8')) as Pinned;
    const problems = [...pinnedProblems(pinned, filesNow()), ...unfoundedChanges(commitsOfManifest())];
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    if (problems.length > 0) process.exitCode = exitCodes.no;
  }
}
