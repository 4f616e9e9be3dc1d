import { spawnSync } from 'node:child_process';

/** A file system in memory that a process sees alone, in a user namespace of its own. It goes with its last process. */
export interface Tmpfs {
  /** What the process is started by. */
  readonly under: readonly string[];
  /** Runs a command where the process sees its files. Returns whether it succeeded. */
  inside(pid: number | undefined, ...command: readonly string[]): boolean;
}

export function tmpfs(path: string, megabytes: number): Tmpfs {
  const mount = `mount -t tmpfs -o size=${megabytes}m none ${path} && exec "$0" "$@"`;
  return {
    under: ['unshare', '-Urm', 'sh', '-c', mount],
    inside: (pid, ...command) =>
      spawnSync('nsenter', ['-t', String(pid), '-U', '-m', '--preserve-credentials', ...command]).status === 0,
  };
}
