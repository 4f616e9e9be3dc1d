import type { Io } from '../../src/commands/terminal/io.ts';

/** Streams that keep what a command prints. Its lines are not folded, unless `env` sets COLUMNS. */
export function capturedIo(env: Record<string, string> = {}): Io & { out(): string; err(): string; code(): 0 | 1 } {
  const written = { out: '', err: '' };
  let code: 0 | 1 = 0;
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
    env: { COLUMNS: '500', ...env },
    signal: new AbortController().signal,
    answerIsNo: () => {
      code = 1;
    },
    runsUntilStopped: () => undefined,
    ifStopped: () => undefined,
    /** Of a command that ends without an error. */
    code: () => code,
    out: () => written.out,
    err: () => written.err,
  };
}
