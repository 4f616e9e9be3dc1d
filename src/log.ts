import { type DestinationStream, type Logger, pino } from 'pino';

import { printableOutput } from './format.ts';

export type { Logger } from 'pino';

/** What secrets look like, wherever in a line they stand: callback addresses, tokens with their word, signed tokens, keys. */
const secretForms = [
  /(?<=\/)[\w-]{43}(?![\w-])/g,
  /(?<=\b(?:Token|Bearer) )[\w.~+/=-]{8,}/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /-----BEGIN [^-]*-----[^"]*?-----END [^-]*-----/g,
];

/**
 * The program's log: one JSON line an event, fields first, a constant lower-case phrase last. What could carry a
 * secret (keys, headers, whole URLs) is never handed to it; `redact` is the second net, and what leaves is searched
 * once more: a path in an error's message has no name that could be listed. What a terminal would obey is escaped.
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
    {
      write: (line) => {
        destination.write(printableOutput(secretForms.reduce((text, form) => text.replace(form, '[hidden]'), line)));
      },
    },
  );
}
