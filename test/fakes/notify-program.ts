import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A program in systemd-notify's place that writes down what it is started with, and when it begins and ends. */
export function notifyProgram(directory: string) {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const program = join(bin, 'systemd-notify');
  writeFileSync(
    program,
    '#!/bin/sh\nfor word; do echo "$word" >> "$NOTIFY_SOCKET"; done\necho begins >> "$NOTIFY_SOCKET.runs"\nsleep 0.02\necho ends >> "$NOTIFY_SOCKET.runs"\n',
  );
  chmodSync(program, 0o755);
  const told = join(directory, 'told');
  const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);
  return {
    env: { NOTIFY_SOCKET: told, PATH: `${bin}:${process.env.PATH ?? ''}` },
    told: () => linesOf(told),
    /** `begins` and `ends`, as they came. */
    runs: () => linesOf(`${told}.runs`),
    /** Resolves when what it was told has this in it. */
    was: async (word: string | RegExp, times = 1) => {
      const isIt = (line: string) => (typeof word === 'string' ? line === word : word.test(line));
      while (linesOf(told).filter(isIt).length < times) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}
