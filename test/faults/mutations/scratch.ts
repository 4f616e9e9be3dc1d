import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runVitest } from '../matrix/suite.ts';
import type { Mutation } from './mutation.ts';

export type Fate =
  | { readonly kind: 'caught'; readonly by: string }
  | { readonly kind: 'survived'; readonly tests: readonly string[] };

interface Failed {
  readonly file: string;
  readonly title: string;
  readonly suite: 'usual' | 'strict';
}

const root = join(import.meta.dirname, '../../..');

/** A copy of the working tree, in which one mutation after the other is tried. */
export class Scratch implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'catalogued-mutations-'));
  readonly #path = join(this.#directory, 'catalogued');
  readonly #green = new Map<string, boolean>();

  constructor() {
    // Tests start programs of other users.
    chmodSync(this.#directory, 0o755);
    for (const name of execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0'))
      if (name !== '' && existsSync(join(root, name))) cpSync(join(root, name), join(this.#path, name));
    for (const name of ['node_modules', 'dist'])
      if (existsSync(join(root, name))) symlinkSync(join(root, name), join(this.#path, name));
    // Real data that tests look for beside the checkout.
    if (existsSync(join(root, '../shared'))) symlinkSync(join(root, '../shared'), join(this.#directory, 'shared'));
  }

  /**
   * What becomes of a mutation. Test files run one after the other until one fails; what survives is tried again by those
   * that ask more in the strict suite.
   */
  async try(mutation: Mutation, tests: readonly string[]): Promise<Fate> {
    const failed = await this.#failedWith(mutation, tests);
    if (failed === null) return { kind: 'survived', tests };
    if (await this.#isGreen(failed)) return { kind: 'caught', by: `${failed.file}: ${failed.title}` };
    // A test that fails here anyway says nothing.
    return await this.try(
      mutation,
      tests.filter((test) => test !== failed.file),
    );
  }

  async #failedWith({ file, text }: Mutation, tests: readonly string[]): Promise<Failed | null> {
    const path = join(this.#path, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, text);
    try {
      const thorough = tests.filter((test) => /someOf|thorough|'time'/.test(readFileSync(join(root, test), 'utf8')));
      return (await this.#firstFailed(tests, 'usual')) ?? (await this.#firstFailed(thorough, 'strict'));
    } finally {
      writeFileSync(path, before);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }

  /** Those that compile: no hand would leave the others so. The compiler sees many at once, at most one in a file. */
  compiling(mutations: readonly Mutation[]): Mutation[] {
    const round = [...Map.groupBy(mutations, ({ file }) => file).values()].flatMap(([first]) => first ?? []);
    if (round.length === 0) return [];
    const wrong = this.#compilerOn(round);
    const rest = mutations.filter((each) => !round.includes(each));
    const good = [...round.filter(({ file }) => !wrong.has(file)), ...this.compiling(rest)];
    return mutations.filter((each) => good.includes(each));
  }

  /** The files of which the compiler complains with these mutations. */
  #compilerOn(mutations: readonly Mutation[]): Set<string> {
    const undo = mutations.map(({ file, text }) => {
      const path = join(this.#path, file);
      const before = readFileSync(path, 'utf8');
      writeFileSync(path, text);
      return () => writeFileSync(path, before);
    });
    const args = ['-p', 'tsconfig.json', '--noEmit', '--pretty', 'false'];
    const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: this.#path, encoding: 'utf8' });
    for (const each of undo) each();
    return new Set([...stdout.matchAll(/^(src\S+?)\(/gm)].flatMap(([, file]) => file ?? []));
  }

  async #firstFailed(tests: readonly string[], suite: Failed['suite']): Promise<Failed | null> {
    for (const test of tests) {
      const failed = await this.#run(test, suite);
      if (failed !== null) return failed;
    }
    return null;
  }

  /** Whether a test file passes without a mutation; asked once. */
  async #isGreen({ file, suite }: Failed): Promise<boolean> {
    const key = `${suite} ${file}`;
    const green = this.#green.get(key) ?? (await this.#run(file, suite)) === null;
    this.#green.set(key, green);
    return green;
  }

  /** The first test of the file that fails, or null. What hangs or cannot even be loaded has failed too. */
  async #run(file: string, suite: Failed['suite']): Promise<Failed | null> {
    const env = { CATALOGUED_TEST_STRICT: suite === 'strict' ? '1' : '' };
    const { code, results } = await runVitest(this.#path, ['--bail', '1', file], env, 240_000);
    if (code === 0) return null;
    if (code === null) return { suite, file, title: 'no end in 240 s' };
    if (results === null) return { suite, file, title: `ended with ${code}` };
    const all = results.testResults.flatMap(({ assertionResults }) => assertionResults);
    const first = all.find(({ status }) => status === 'failed');
    return { suite, file, title: first?.fullName ?? 'it cannot be loaded' };
  }
}
