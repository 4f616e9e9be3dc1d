import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configure, run } from '../program.ts';
import type { RoughCase } from '../rough-case.ts';

const nobody = 65_534;

/** What a program of a few lines prints with the reader of the commit. */
function withReader(root: string, script: string, old: boolean): string {
  const reader = join(root, 'dist/storefront/reader.js');
  const older = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.9.0'})";
  const text = `import(${JSON.stringify(reader)}).then(({ openReader }) => { ${script} }).catch((error) => console.log(error.code))`;
  try {
    return execFileSync(process.execPath, [...(old ? ['--import', older] : []), '-e', text], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch (error) {
    return `ended with ${(error as { status: number | null; signal: string | null }).status ?? (error as { signal: string | null }).signal}`;
  }
}

export const cases: readonly RoughCase[] = [
  {
    point: '13 text as a mirror',
    claim: 'a text that is opened as a mirror is somebody else’s, and not a damaged mirror',
    run: async ({ root, directory }) => {
      const path = join(directory, 'notes.txt');
      writeFileSync(path, 'notes of somebody, and no database at all\n'.repeat(200));
      const code = withReader(root, `openReader(${JSON.stringify(path)})`, false);
      return { green: code === 'foreign-file', said: code };
    },
  },
  {
    point: '13 openReader()',
    claim: 'openReader() without a path is refused with a code of ours',
    run: async ({ root }) => {
      const code = withReader(root, 'openReader()', false);
      return { green: code === 'bad-argument', said: code };
    },
  },
  {
    point: '13 reader on Node 20',
    claim: 'the reader under an older Node is refused with a code of ours',
    run: async ({ root }) => {
      const code = withReader(root, 'openReader("x")', true);
      return { green: code === 'old-node', said: code };
    },
  },
  {
    point: '13 directory 0755',
    claim: 'a mirror directory that no group shares is said, with what to do',
    run: async (subject) => {
      const config = configure(subject, 'http://127.0.0.1:1');
      mkdirSync(join(subject.directory, 'mirror'));
      chmodSync(join(subject.directory, 'mirror'), 0o755);
      const { stdout } = await run(subject, ['--config', config, 'doctor']);
      return { green: /chmod 3770/.test(stdout), said: /.*mirror directory.*/.exec(stdout)?.[0].trim() ?? stdout };
    },
  },
  {
    point: '13 missing directory',
    claim: 'a directory that is missing and cannot be made is called so',
    run: async (subject) => {
      const locked = join(subject.directory, 'locked');
      mkdirSync(locked, { mode: 0o555 });
      const state_dir = join(subject.directory, 'state');
      mkdirSync(state_dir, { mode: 0o700 });
      const mirror = { path: join(locked, 'deeper/mirror.db'), inbox_path: join(state_dir, 'inbox.db'), state_dir };
      const config = configure(subject, 'http://127.0.0.1:1', { mirror });
      // Root may make a directory anywhere.
      for (const path of [state_dir, config]) chownSync(path, nobody, nobody);
      chmodSync(subject.directory, 0o711);
      const under = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
      const { code, stderr } = await run(subject, ['--config', config, 'run'], { under });
      const said = /^Error: .*/m.exec(stderr)?.[0] ?? stderr;
      return { green: code === 77 && /there is no directory .*deeper/.test(said), said: `${code} ${said}` };
    },
  },
];
