import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutation } from './mutation.ts';

export type Fate =
  | { readonly kind: 'caught'; readonly by: string }
  | { readonly kind: 'survived'; readonly tests: readonly string[] }
  /** It does not compile: no hand would leave it so. */
  | { readonly kind: 'invalid' }
  /** The test that fails also fails without the mutation. */
  | { readonly kind: 'unsound'; readonly by: string };

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

const root = join(import.meta.dirname, '../..');

/** A copy of the working tree, in which one mutation after the other is tried. */
export class Scratch implements Disposable {
  readonly #path = mkdtempSync(join(tmpdir(), 'catalogued-mutations-'));
  readonly #green = new Map<string, boolean>();

  constructor() {
    // Tests start programs of other users.
    chmodSync(this.#path, 0o755);
    for (const name of execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0'))
      if (name !== '' && existsSync(join(root, name))) cpSync(join(root, name), join(this.#path, name));
    for (const name of ['node_modules', 'dist'])
      if (existsSync(join(root, name))) symlinkSync(join(root, name), join(this.#path, name));
    this.#compiles();
  }

  /** What becomes of a mutation: tests stop at the first that fails. One that survives is tried by the strict suite too. */
  try({ file, text }: Mutation, tests: readonly string[]): Fate {
    const path = join(this.#path, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, text);
    try {
      if (!this.#compiles()) return { kind: 'invalid' };
      const failed = this.#run(tests) ?? this.#run(tests, 'strict');
      if (failed === null) return { kind: 'survived', tests };
      writeFileSync(path, before);
      return { kind: this.#isGreen(failed.file) ? 'caught' : 'unsound', by: `${failed.file}: ${failed.title}` };
    } finally {
      writeFileSync(path, before);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { recursive: true });
  }

  #compiles(): boolean {
    const state = join(this.#path, '.tsbuildinfo');
    const args = ['-p', 'tsconfig.json', '--noEmit', '--incremental', '--tsBuildInfoFile', state];
    return spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: this.#path }).status === 0;
  }

  /** Whether a test file passes without a mutation; asked once. */
  #isGreen(file: string): boolean {
    const green = this.#green.get(file) ?? (file === 'nothing' || this.#run([file], 'strict') === null);
    this.#green.set(file, green);
    return green;
  }

  /** The first test that fails, or null. What hangs or cannot even be loaded has failed too. */
  #run(tests: readonly string[], suite: 'usual' | 'strict' = 'usual'): { file: string; title: string } | null {
    const output = join(this.#path, 'results.json');
    rmSync(output, { force: true });
    const args = [
      'run',
      '--config',
      'test/vitest.config.ts',
      '--bail',
      '1',
      '--reporter',
      'json',
      '--outputFile',
      output,
    ];
    const run = spawnSync(join(root, 'node_modules/.bin/vitest'), [...args, ...tests], {
      cwd: this.#path,
      env: { ...process.env, CATALOGUED_TEST_STRICT: suite === 'strict' ? '1' : '', CATALOGUED_TEST_RESULTS: '' },
      timeout: 240_000,
    });
    if (run.status === 0) return null;
    if (!existsSync(output)) return { file: 'nothing', title: run.status === null ? 'no end in 240 s' : 'no results' };
    const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as Results;
    const path = (name: string) => name.slice(name.indexOf('/test/') + 1);
    for (const { name, assertionResults } of testResults) {
      const failed = assertionResults.find(({ status }) => status === 'failed');
      if (failed !== undefined) return { file: path(name), title: failed.fullName };
    }
    // The others were broken off by the first failure.
    const broken = testResults.find(({ status }) => status === 'failed');
    return broken === undefined
      ? { file: 'nothing', title: `ended with ${run.status}` }
      : { file: path(broken.name), title: 'it cannot be loaded' };
  }
}
