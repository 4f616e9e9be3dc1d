import { readFileSync } from 'node:fs';

const tickMs = 10;

/** Processor time that a process has used so far, or that its ended children have. */
export function processorMs(pid: number, whose: 'own' | 'children'): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may have blanks in it; the first one is field 3.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0] = whose === 'own' ? fields.slice(11, 13) : fields.slice(13, 15);
  return (user + system) * tickMs;
}

/** Resident memory of a process, in MiB. */
export function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
