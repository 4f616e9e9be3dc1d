import { rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { CataloguedError } from '../errors.ts';
import { otherColumns } from './columns.ts';
import { isOfDevelopment, ofDevelopment } from './development.ts';
import { type FileKind, schemaVersion } from './file-kind.ts';
import { noteOf } from './identity.ts';
import { guarded } from './refusals.ts';

type Condition = 'missing' | 'empty' | 'well' | 'damaged' | 'foreign' | 'newer' | 'development';

/** Condition of the file at a path (files/pair-trouble.rules.ts), and a description for a person of what is wrong with it. */
export interface Look {
  readonly condition: Condition;
  /** Null if nothing is wrong. */
  readonly wrong: string | null;
  /** Of a newer file: the program that has written it and opens it again, where the file says so. */
  readonly writer?: string;
}

/** Depth of an inspection: the first page, every page, or every page and the consistency of the indexes. */
export type LookDepth = 'header' | 'whole' | 'thorough';

const checks = { whole: 'quick_check(1)', thorough: 'integrity_check(1)' };

/** Larger files are checked beside the running daemon: a check takes 13 seconds a gigabyte. */
export const checkedAtOnce = 256 * 1024 * 1024;

/** Returns whether a file is small enough to be checked while somebody waits. */
export function isChecked(path: string): boolean {
  return (noteOf(path)?.size ?? 0) <= checkedAtOnce;
}

/**
 * Looks at a file without changing a byte of it; `whole` goes through every page. Throws `permission` and `io`. For who
 * holds the lock: the side files that SQLite makes to look are removed again where the file is not used afterwards.
 */
export function lookAt(path: string, kind: FileKind, depth: LookDepth): Look {
  const removeMade = sideFilesMade(path);
  const look = lookBeside(path, kind, depth);
  if (look.condition !== 'well' && look.condition !== 'empty') removeMade();
  return look;
}

/** Returns what removes the side files that are made from here on: only where nothing is written to the file afterwards. */
export function sideFilesMade(path: string): () => void {
  const made = [`${path}-wal`, `${path}-shm`].filter((each) => noteOf(each) === null);
  return () => {
    for (const each of made) if (each.endsWith('-shm') || noteOf(each)?.size === 0) rmSync(each, { force: true });
  };
}

/** The same beside a daemon that may be running. */
export function lookBeside(path: string, kind: FileKind, depth: LookDepth): Look {
  const stats = guarded(path, () => statSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) return { condition: 'missing', wrong: 'there is no such file' };
  if (stats.isFile() && stats.size === 0) return { condition: 'empty', wrong: 'it is empty' };
  try {
    return guarded(path, () => {
      const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5000 });
      try {
        return conditionOf(db, kind, depth);
      } finally {
        db.close();
      }
    });
  } catch (error) {
    if (!(error instanceof CataloguedError)) throw error;
    if (error.code === 'damaged') return { condition: 'damaged', wrong: after(error, ' is damaged: ') };
    if (error.code === 'foreign-file')
      return { condition: 'foreign', wrong: after(error, ' is not a file of catalogued: ') };
    throw error;
  }
}

function conditionOf(db: Database.Database, kind: FileKind, depth: LookDepth): Look {
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }));
  const [id, version] = [pragma('application_id'), pragma('user_version')];
  const tables = db.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() ?? 0;
  if (id === 0 && version === 0 && tables === 0) return { condition: 'empty', wrong: 'it has no tables' };
  if (isOfDevelopment(db)) return { condition: 'development', wrong: ofDevelopment };
  if (id !== kind.application_id)
    return { condition: 'foreign', wrong: `it is a database, but not a ${kind.name} of catalogued` };
  const newest = schemaVersion(kind);
  if (version > newest)
    return {
      condition: 'newer',
      wrong: `it was written by a newer catalogued (schema ${version}, this one knows ${newest})`,
      ...writerOf(db, kind),
    };
  const problem = depth === 'header' ? 'ok' : db.pragma(checks[depth], { simple: true });
  if (problem !== 'ok') return { condition: 'damaged', wrong: String(problem).replaceAll('\n', ' ') };
  const other = otherColumns(db, kind, version);
  if (other === null) return { condition: 'well', wrong: null };
  return { condition: 'damaged', wrong: `${other}: an unreleased version or another program changed it` };
}

/** Returns the writer that a newer file names, as its contract requires. Empty if a file names none. */
function writerOf(db: Database.Database, { writer }: FileKind) {
  try {
    const found = writer === undefined ? undefined : db.prepare<[], string>(writer).pluck().get();
    return found === undefined ? {} : { writer: found };
  } catch {
    return {};
  }
}

function after({ message }: Error, phrase: string): string {
  return message.slice(message.indexOf(phrase) + phrase.length);
}
