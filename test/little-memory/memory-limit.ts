import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A limit of the kernel on all that some processes hold, pages of files and all; there is no swap behind it. */
export interface MemoryLimit extends Disposable {
  /** A shell command before others: they and their children are limited. */
  readonly enter: string;
  /** How many of them the kernel has killed for want of memory. */
  killed(): number;
}

/** Both generations of control groups: where the memory's are, and what their files are called. */
const generations = [
  { root: '/sys/fs/cgroup', limit: 'memory.max', events: 'memory.events', of: 'cgroup.controllers' },
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', events: 'memory.oom_control', of: 'tasks' },
];

/** Makes a control group with so much memory; throws where none can be made: that takes root, and the kernel's groups. */
export function memoryLimit(mib: number): MemoryLimit {
  const generation = generations.find(({ root, of }) => existsSync(join(root, of)));
  if (generation === undefined) throw new Error('there are no control groups for memory here');
  const { root, limit, events } = generation;
  const group = join(root, `catalogued-${process.pid}-${mib}`);
  mkdirSync(group);
  writeFileSync(join(group, limit), String(mib * 2 ** 20));
  if (readdirSync(group).includes('memory.swap.max')) writeFileSync(join(group, 'memory.swap.max'), '0');
  return {
    enter: `echo $$ > ${group}/cgroup.procs`,
    killed: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(group, events), 'utf8'))?.[1]),
    [Symbol.dispose]: () => rmdirSync(group),
  };
}
