import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Mutation } from './mutation.ts';
import { reachedFile } from './reached-file.ts';
import { Runner } from './runner.ts';

/** A test file, and the patterns of those of its titles that count; null: all of them. */
export interface Tests {
  readonly file: string;
  readonly titles: readonly string[] | null;
}

export type Fate =
  | { readonly kind: 'caught'; readonly by: Failed }
  | { readonly kind: 'survived'; readonly tests: readonly string[] };

export interface Failed {
  readonly file: string;
  readonly title: string;
  readonly suite: Suite;
}

type Suite = 'usual' | 'strict';

/** Result of a test file without a mutation: how many of its tests passed, how many were skipped, how long that took. */
export interface Plain {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: Failed | null;
  readonly seconds: number;
}

/** How often each function of a source was called that is loaded, by the path of the source and the name of the function. */
export type Reached = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** A copy of the working tree at `root`, or of a commit there, in which one mutation after the other is tried. */
export class Scratch implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'catalogued-mutations-'));
  readonly path = join(this.#directory, 'catalogued');
  readonly #root: string;
  readonly #noted = join(this.#directory, 'reached.json');
  readonly #plain = new Map<string, Plain>();
  readonly #runners = new Map<string, Runner>();
  /** What was ever changed: a runner may have read it before or after. */
  readonly #changed = new Set<string>();

  constructor(root: string, commit: string | null = null) {
    this.#root = root;
    // Tests start programs of other users.
    chmodSync(this.#directory, 0o755);
    if (commit === null) this.#copyTree();
    else this.#copyCommit(commit);
    for (const name of ['node_modules', 'dist'])
      if (existsSync(join(root, name))) symlinkSync(join(root, name), join(this.path, name));
    // Real data that tests look for beside the checkout.
    if (existsSync(join(root, '../shared'))) symlinkSync(join(root, '../shared'), join(this.#directory, 'shared'));
    // Each mutation is another program: it is built for those tests that start it.
    const buildOnce = join(this.path, 'test/fakes/build-once.ts');
    if (existsSync(buildOnce)) writeFileSync(buildOnce, 'export default () => {};\n');
  }

  #copyTree(): void {
    const files = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    for (const name of execFileSync('git', files, { cwd: this.#root, encoding: 'utf8' }).split('\0'))
      if (name !== '' && existsSync(join(this.#root, name))) cpSync(join(this.#root, name), join(this.path, name));
  }

  #copyCommit(commit: string): void {
    mkdirSync(this.path);
    const archive = execFileSync('git', ['archive', commit], { cwd: this.#root, maxBuffer: 1 << 28 });
    execFileSync('tar', ['-x', '-C', this.path], { input: archive });
  }

  /**
   * What becomes of a mutation. The tests run in their order until one fails; what survives is tried again by those
   * that ask more in the strict suite.
   */
  async try(mutation: Mutation, all: readonly Tests[], suites: readonly Suite[]): Promise<Fate> {
    // A test that fails here anyway says nothing.
    const isBad = (each: Tests) => suites.some((suite) => this.#plain.get(keyOf(each, suite))?.failed);
    const tests = all.filter((each) => !isBad(each));
    const failed = await this.#failedWith(mutation, tests, suites);
    if (failed === null) return { kind: 'survived', tests: tests.map(({ file }) => file) };
    const own = tests.filter(({ file }) => file === failed.file);
    const plain = await Promise.all(own.map((each) => this.plain(each, failed.suite)));
    if (plain.every((each) => each.failed === null)) return { kind: 'caught', by: failed };
    return await this.try(
      mutation,
      tests.filter(({ file }) => file !== failed.file),
      suites,
    );
  }

  async #failedWith(
    { file, text }: Mutation,
    tests: readonly Tests[],
    suites: readonly Suite[],
  ): Promise<Failed | null> {
    const path = join(this.path, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, text);
    this.#changed.add(file);
    try {
      for (const suite of suites) {
        const asked = suite === 'strict' && suites.length > 1 ? tests.filter(this.#asksMore) : tests;
        const failed = await this.#firstFailed(asked, suite);
        if (failed !== null) return failed;
      }
      return null;
    } finally {
      writeFileSync(path, before);
    }
  }

  readonly #asksMore = ({ file }: Tests) => /someOf|thorough|'time'/.test(readFileSync(join(this.path, file), 'utf8'));

  [Symbol.dispose](): void {
    for (const runner of this.#runners.values()) runner[Symbol.dispose]();
    rmSync(this.#directory, { recursive: true });
  }

  /** Those that compile: no hand would leave the others so. The compiler sees each as a file of its own beside the one that it changes. */
  compiling(mutations: readonly Mutation[]): Mutation[] {
    const files = mutations.map(({ file }, index) => file.replace(/\.ts$/, `.mutation-${index}.ts`));
    for (const [index, { text }] of mutations.entries()) writeFileSync(join(this.path, files[index] ?? ''), text);
    const config = join(this.path, 'mutations.json');
    writeFileSync(config, JSON.stringify({ extends: './tsconfig.json', include: [], files }));
    const args = ['-p', config, '--noEmit', '--pretty', 'false'];
    const tsc = join(this.path, 'node_modules/.bin/tsc');
    const { stdout } = spawnSync(tsc, args, { cwd: this.path, encoding: 'utf8' });
    for (const file of files) rmSync(join(this.path, file));
    const wrong = new Set([...stdout.matchAll(/^(\S+?)\(/gm)].flatMap(([, file]) => file ?? []));
    return mutations.filter((_, index) => !wrong.has(files[index] ?? ''));
  }

  /** Runs whole files together, each file of which only some titles count by itself. */
  async #firstFailed(tests: readonly Tests[], suite: Suite): Promise<Failed | null> {
    const whole = tests.filter(({ titles }) => titles === null);
    for (const group of [whole, ...tests.filter(({ titles }) => titles !== null).map((each) => [each])]) {
      const failed = group.length === 0 ? null : (await this.#run(group, suite)).failed;
      if (failed !== null) return failed;
    }
    return null;
  }

  /** What a test file says without a mutation; asked once. */
  async plain(tests: Tests, suite: Suite): Promise<Plain> {
    const key = keyOf(tests, suite);
    const found = this.#plain.get(key) ?? (await this.#run([tests], suite));
    this.#plain.set(key, found);
    return found;
  }

  /** Functions that a test file calls, in its own process, as `reached.ts` noted them: by the path of the source. */
  async reached(tests: Tests, suite: Suite): Promise<Reached> {
    const path = join(this.path, tests.file);
    const before = readFileSync(path, 'utf8');
    cpSync(join(import.meta.dirname, 'reached.ts'), join(this.path, 'test/reached.ts'));
    writeFileSync(path, `import '${relative(dirname(tests.file), 'test').padEnd(1, '.')}/reached.ts';\n${before}`);
    this.#changed.add(tests.file);
    const plain = await this.#run([tests], suite);
    writeFileSync(path, before);
    this.#plain.set(keyOf(tests, suite), plain);
    const scripts = existsSync(this.#noted)
      ? (JSON.parse(readFileSync(this.#noted, 'utf8')) as Record<string, Reached[string]>)
      : {};
    rmSync(this.#noted, { force: true });
    return Object.fromEntries(Object.entries(scripts).map(([url, calls]) => [relative(this.path, url), calls]));
  }

  /** Runs tests until the first one fails. What hangs or cannot even be loaded has failed too. */
  async #run(group: readonly Tests[], suite: Suite): Promise<Plain> {
    const titles = group.flatMap((each) => each.titles ?? []);
    const files = group.map(({ file }) => join(this.path, file));
    const limit_ms = Math.max(240_000, 20_000 * files.length);
    const started = performance.now();
    const came = await this.#runner(files.length > 50 ? 'whole' : suite).run(
      {
        files,
        changed: [...this.#changed].map((file) => join(this.path, file)),
        titles: titles.length > 0 ? titles.join('|') : null,
        first: group.map(({ file }) => relative('test', file)).join(','),
      },
      limit_ms,
    );
    const seconds = (performance.now() - started) / 1000;
    const failed = (file: string, title: string) => ({ suite, file: relative(this.path, file), title });
    if (came === null)
      return { passed: 0, skipped: 0, seconds, failed: failed(files[0] ?? '', `no end in ${limit_ms / 1000} s`) };
    const count = (wanted: string) => came.tests.filter(({ state }) => state === wanted).length;
    const sums = { passed: count('passed'), skipped: count('skipped') + count('pending'), seconds };
    const first = came.tests.find(({ state }) => state === 'failed');
    if (first !== undefined) {
      if (!files.includes(first.file)) throw new Error(`${first.file} was not asked about this mutation`);
      return { ...sums, failed: failed(first.file, first.title) };
    }
    const [broken] = came.broken;
    if (broken !== undefined) return { ...sums, failed: failed(broken, 'it cannot be loaded') };
    return { ...sums, failed: came.error === null ? null : failed(files[0] ?? '', came.error) };
  }

  #runner(kind: Suite | 'whole'): Runner {
    const workers = kind === 'whole' ? availableParallelism() + 1 : 1;
    const env = { CATALOGUED_TEST_STRICT: kind === 'strict' ? '1' : '', [reachedFile]: this.#noted };
    const runner = this.#runners.get(kind) ?? new Runner(this.path, env, workers);
    this.#runners.set(kind, runner);
    return runner;
  }
}

function keyOf(tests: Tests, suite: Suite): string {
  return JSON.stringify([suite, tests]);
}
