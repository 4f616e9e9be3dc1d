import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { failingDisk, type How } from './failing-disk.ts';
import type { ScenarioName } from './scenarios.ts';

export interface Swept {
  /** How many calls were failed, each in a round of its own. */
  readonly positions: number;
  /** What was wrong once the disk worked again, with the call that had failed. */
  readonly wrong: readonly string[];
}

export interface SweepOptions {
  readonly how: How;
  /** So many calls in a row fail. */
  readonly times?: number;
  /** Each so many-th call is tried. */
  readonly step?: number;
}

/** Fails the n-th write, fsync or truncation of a scenario, for n = 1, 2, 3 … until none is left. */
export async function sweepDisk(scenario: ScenarioName, { how, times = 1, step = 1 }: SweepOptions): Promise<Swept> {
  using directory = temporaryDirectory();
  const below = join(directory.path, 'disk');
  mkdirSync(below);
  const program = join(import.meta.dirname, 'sweep-child.ts');
  const env = { ...process.env, ...failingDisk(join(directory.path, 'control'), below) };
  const args = [program, scenario, how, String(times), String(step), below];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`the sweep of ${scenario} ended with ${code}`);
  return JSON.parse(said) as Swept;
}
