import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Change, Reader } from '../../../src/storefront/reader.ts';
import { document } from '../../documents.ts';

/** The rows of a view that are named: by what finds them. */
export type Name = readonly [view: string, where: Readonly<Record<string, string | number>>];
export type Row = Readonly<Record<string, unknown>>;
export type Read = (view: string, where: Name[1]) => readonly Row[];
export type Replace = (view: string, where: Name[1], rows: readonly Row[]) => void;
type Cursor = ReturnType<Reader['newest']>;

/** What `copy.mjs` of docs/copies.md exports. */
export interface CopyScript {
  readonly copied: readonly string[];
  named(change: Change): readonly Name[];
  byTheClock(now: number, often: 'hourly' | 'daily'): readonly Name[];
  apply(names: readonly Name[], read: Read, replace: Replace): void;
  reading(db: unknown): Read;
  passes(reader: Reader, cursor: Cursor): { readonly changes: readonly Change[]; readonly cursor: Cursor };
}

const reader = new URL('../../../src/storefront/reader.ts', import.meta.url).href;

/** Writes the scripts of a document into a directory, as a shop would copy them from the page. */
export function writeScripts(directory: string, page = 'docs/copies.md'): void {
  for (const [, name = '', code = ''] of document(page).matchAll(/```js\n\/\/ (\S+)\n(.*?)```/gs))
    if (!name.includes('/'))
      writeFileSync(join(directory, name), code.replace("'catalogued-reader'", JSON.stringify(reader)));
}

export async function copyScript(directory: string): Promise<CopyScript> {
  writeScripts(directory);
  return (await import(pathToFileURL(join(directory, 'copy.mjs')).href)) as CopyScript;
}
