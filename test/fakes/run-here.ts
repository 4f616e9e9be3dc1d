import { main } from '../../src/commands/main.ts';
import { capturedIo } from './captured-io.ts';
import type { Ran } from './run-cli.ts';

/** A command as its own process would run it, in this one: starting another costs more than most commands do. */
export async function runHere(
  args: readonly string[],
  { env = {} }: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Ran> {
  const io = capturedIo(env);
  const code = await main(args, io);
  return { code, stdout: io.out(), stderr: io.err() };
}
