import { all, kind } from '../../src/sandbox/rough/habits.ts';
import { type Sandbox, type SandboxOptions, startSandbox as start } from '../../src/sandbox/sandbox.ts';

/**
 * Starts a sandbox as the tests' default has it: kind, or with all the habits where CATALOGUED_HABITS=all is set. What
 * a test asks for itself stands above it.
 */
export function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const habits = process.env.CATALOGUED_HABITS === 'all' ? all : kind;
  return start({ ...options, habits: { ...habits, ...options.habits } });
}
