import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * The program's log: one JSON line an event, fields first, a constant lower-case phrase last. What could carry a
 * secret (keys, headers, whole URLs) is never handed to it; `redact` is the second net.
 */
export function createLog(level: string, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['*.authorization', '*.Authorization', 'headers', '*.headers', 'api_key', '*.api_key'],
        censor: '[hidden]',
      },
    },
    destination,
  );
}
