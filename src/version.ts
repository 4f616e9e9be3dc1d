import { readFileSync } from 'node:fs';

/** This program's version, as its package says it. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
