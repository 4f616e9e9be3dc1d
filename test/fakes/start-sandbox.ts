import { systemClock } from '../../src/kernel/clock.ts';
import { all, kind } from '../../src/sandbox/rough/quirks.ts';
import { type Sandbox, type SandboxOptions, startSandbox as start } from '../../src/sandbox/sandbox.ts';

/**
 * Starts a sandbox as the tests' default has it: on the machine's clock, kind, or with all the quirks where
 * CATALOGUED_QUIRKS=all is set. What a test asks for itself stands above it.
 */
export function startSandbox(options: Partial<SandboxOptions> & { readonly products: number }): Promise<Sandbox> {
  const quirks = process.env.CATALOGUED_QUIRKS === 'all' ? all : kind;
  return start({ clock: systemClock, seed: 1, ...options, quirks: { ...quirks, ...options.quirks } });
}
