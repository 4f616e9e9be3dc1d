import { readdirSync, readFileSync } from 'node:fs';
import { type ViewColumns, withColumns } from './view-columns.ts';

/** One of the program's two files: what marks it as ours, and how it came to be. */
export interface FileKind {
  readonly name: string;
  readonly application_id: number;
  /**
   * The directory of numbered, forward-only SQL files; the last number is the schema's version. Each begins with the oldest
   * catalogued that may open a file which has taken it: an older one refuses the file (`newer-file`).
   */
  readonly migrations: URL;
  /** The text of its views, created again if those in a file differ; absent: it has none. */
  readonly views?: URL;
  /** Columns that replace `p.*` in that text; see `withColumns`. */
  readonly view_columns?: ViewColumns;
  /**
   * Triggers of the connections that write the file. The file itself has none, because every reader would have to parse
   * them.
   */
  readonly triggers?: readonly URL[];
  /** Asks the file which program has written it; absent: it does not say. */
  readonly writer?: string;
  /** 0660 for the mirror: storefronts of the same group create its -wal and -shm with the file's mode. */
  readonly mode: number;
  readonly wal_autocheckpoint: number;
  /** Of a file that is made now: whether its free pages can be given back. */
  readonly auto_vacuum?: 'incremental';
}

/** Returns the version of the schema that this program writes. */
export function schemaVersion(kind: FileKind): number {
  return namesOf(kind).length;
}

/** Returns the steps that lead to it, in order. */
export function migrationsOf(kind: FileKind): string[] {
  return namesOf(kind).map((name) => readFileSync(new URL(name, kind.migrations), 'utf8'));
}

/** Returns the oldest catalogued that opens a file once this program has brought it up to date. */
export function oldestSafeVersion(kind: FileKind): string {
  return oldestSafeOf(migrationsOf(kind).at(-1) ?? '');
}

/** Returns the oldest safe version that a step names in its first line. */
export function oldestSafeOf(step: string): string {
  const [, version] = /^-- Oldest safe version: (\d+\.\d+\.\d+(?:-rc)?)\n/.exec(step) ?? [];
  if (version === undefined)
    throw new Error(`a migration does not begin with its oldest safe version: ${step.slice(0, 80)}`);
  return version;
}

const { compare } = new Intl.Collator('en', { numeric: true });

/** Compares two versions, the older one first: a release candidate comes before its release. */
export function compareVersions(one: string, other: string): number {
  const sortable = (version: string) => (version.includes('-') ? version : `${version}-release`);
  return compare(sortable(one), sortable(other));
}

/**
 * Returns the text that makes its views; empty for a file without any. Each is one line, without comments: what makes
 * types from a file (drizzle-kit) reads no further than a line.
 */
export function viewsOf({ views, view_columns = new Map() }: FileKind): string {
  if (views === undefined) return '';
  const statements = withColumns(readFileSync(views, 'utf8').replace(/^\s*--.*$/gm, ''), view_columns).split(/;\s*\n/);
  return statements.map((each) => each.trim().replace(/\s*\n\s*/g, ' ')).join(';\n');
}

/** They are part of the program: a process that becomes another user may be unable to look again. */
const namesRead = new WeakMap<URL, readonly string[]>();

function namesOf({ migrations }: FileKind): readonly string[] {
  const read = namesRead.get(migrations);
  if (read !== undefined) return read;
  const names = readdirSync(migrations)
    .filter((name) => /^\d{4}-.*\.sql$/.test(name))
    .sort();
  namesRead.set(migrations, names);
  return names;
}
