import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { askModule } from '../../fakes/run-cli.ts';
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
  const swept = await askModule<Swept>([program, scenario, how, String(times), String(step), below], env);
  if (swept === null) throw new Error(`the sweep of ${scenario} ended before it was done`);
  return swept;
}
