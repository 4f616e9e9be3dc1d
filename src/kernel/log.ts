import { type DestinationStream, type Logger, pino } from 'pino';

import { printableOutput } from './format.ts';

export type { Logger } from 'pino';

/** The forms of secrets anywhere in a line: callback addresses, tokens with their scheme, signed tokens, keys. */
const secretForms = [
  /(?<=\/)[\w-]{43}(?![\w-])/g,
  /(?<=\b(?:Token|Bearer) )[\w.~+/=-]{8,}/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /-----BEGIN [^-]*-----[^"]*?-----END [^-]*-----/g,
];

/**
 * Creates the program's log: one JSON line per event, fields first, a constant lower-case phrase last. Callers never
 * pass what could contain a secret (keys, headers, whole URLs); `redact` is the second net, and each line is searched
 * once more for the forms of secrets, which error messages may contain. Control characters are escaped.
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
