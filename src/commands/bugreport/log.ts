import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const lines = 500;
/** A journal that hangs must not hang the report. */
const patienceMs = 10_000;

/** Returns the last lines of the log in a file, or of the journal where it has any of the unit's. */
export function lastLines(file: string | null): string {
  const text = file === null ? journal() : readFileSync(file, 'utf8');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}

function journal(): string {
  const options = ['--quiet', '--no-pager', '--output', 'cat', '--lines', String(lines)];
  const found = execFileSync(
    'journalctl',
    [...options, '--unit', 'catalogued.service', '--unit', 'catalogued@*.service'],
    {
      encoding: 'utf8',
      timeout: patienceMs,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  return found === '' ? 'The journal has no lines of the unit that this user can see. Pass a file with --log.' : found;
}
