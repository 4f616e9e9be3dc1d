import type { Io } from '../../src/commands/terminal/io.ts';

/** Streams that keep what a command prints. */
export function capturedIo(env: Record<string, string> = {}): Io & { out(): string; err(): string } {
  const written = { out: '', err: '' };
  const stream = (name: keyof typeof written) =>
    ({
      write: (text: string) => {
        written[name] += text;
        return true;
      },
    }) as unknown as Io['stdout'];
  return {
    stdout: stream('out'),
    stderr: stream('err'),
    env,
    signal: new AbortController().signal,
    out: () => written.out,
    err: () => written.err,
  };
}
