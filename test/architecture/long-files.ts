/** Where to look for a second subject in a file. */
export const longest = 300;

/** Files that may be longer, and why. A file that is split leaves the list, and nothing joins it without a reason. */
export const longFiles: Readonly<Record<string, string>> = {
  'mirror/sql/tables.ts': 'one list: the columns of every table',
};

/** Files that have more lines than that. */
export function tooLong(of: readonly (readonly [file: string, text: string])[]): string[] {
  return of.filter(([, text]) => text.split('\n').length - 1 > longest).map(([file]) => file);
}
