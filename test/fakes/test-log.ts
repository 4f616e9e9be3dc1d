import { createLog, type Logger } from '../../src/kernel/log.ts';

/** A log that keeps its lines, so that a test can ask what was said. */
export function testLog(level = 'info'): { readonly log: Logger; lines(): Record<string, unknown>[] } {
  const written: string[] = [];
  const log = createLog(level, {
    write: (line: string) => {
      written.push(line);
    },
  });
  return { log, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}
