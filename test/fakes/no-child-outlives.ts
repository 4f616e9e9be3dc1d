import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { TestProject } from 'vitest/node';

/** In the environment of every process that a test starts, and of no worker: what a worker was started with is older. */
export const runMark = 'CATALOGUED_TEST_RUN';

/** Fails the run where a process that a test has started is alive at its end; ends it, so that it is in nobody's way. */
export default function noChildOutlives(project: TestProject): () => Promise<void> {
  const run = project.config.env[runMark];
  return async () => {
    let alive = typeof run === 'string' ? startedBy(run) : [];
    // What was told to end may need a moment for it.
    for (let looks = 0; alive.length > 0 && looks < 50; looks += 1) {
      await setTimeout(100);
      alive = startedBy(String(run));
    }
    for (const { pid } of alive) process.kill(pid, 'SIGKILL');
    if (alive.length === 0) return;
    process.exitCode = 1;
    throw new Error(`outlived the suite: ${alive.map(({ pid, command }) => `${pid} ${command}`).join('; ')}`);
  };
}

/** Processes with the run's mark; none where there is no /proc to ask. */
export function startedBy(run: string): { pid: number; command: string }[] {
  return readdirOrNone('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const marked = textOf(`/proc/${pid}/environ`).split('\0').includes(`${runMark}=${run}`);
    return marked ? [{ pid, command: textOf(`/proc/${pid}/cmdline`).split('\0').join(' ').trim() }] : [];
  });
}

function readdirOrNone(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Empty for a process of somebody else, or one that has just ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
