import { chmodSync, constants, copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../config/load.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type FileKind, openForWriting } from '../../kernel/sqlite/database-file.ts';
import { prepareDirectory } from '../../kernel/sqlite/directory.ts';
import { openReadOnly } from '../../kernel/sqlite/read-only.ts';
import { contractVersion } from '../../mirror/contract/contract.ts';
import { readOwnRow } from '../../mirror/pair-with-inbox.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { version } from '../../package.ts';
import { inboxFile } from '../../receiver/inbox.ts';
import { inboxCopy, mirrorCopy } from '../backups.ts';
import { makeInChild } from './in-child.ts';
import { bytesOf, freeIn, refuseWithoutSpace, removeUnfinished, spaceFor } from './make.ts';
import { type SchemaSteps, schemaSteps } from './schema-steps.ts';

/** Effects of an upgrade to this version, tested on a copy. */
export interface UpgradeCheck extends SchemaSteps {
  readonly version: string;
  /** Version that has written the mirror. */
  readonly written_by: string;
  readonly contract: { readonly from: number; readonly to: number };
  /** Changes that storefronts find afterwards: columns as `view.column`. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /**
   * Durations of the backup before it, and of the change itself, measured on a copy, in milliseconds. Storefronts can
   * read meanwhile.
   */
  readonly backup_ms: number;
  readonly change_ms: number;
  /** Bytes that it needs and free bytes, on the disk with the smallest margin. */
  readonly needed_bytes: number;
  readonly free_bytes: number;
}

/**
 * Tests the upgrade on a copy beside the backups, which is removed again: the backup that the start makes, and the
 * change of both files. The mirror is only read, so a daemon may run. Throws if there is not even space for the test
 * (74), and the reason of an aborted signal.
 */
export async function checkUpgrade(
  { mirror, backup }: Config,
  { now, monotonic }: Clock,
  signal: AbortSignal,
): Promise<UpgradeCheck> {
  const { path, inbox_path } = mirror;
  const { directory } = backup;
  prepareDirectory(directory, 0o700);
  removeUnfinished(directory);
  const space = spaceFor(path, inbox_path);
  refuseWithoutSpace(directory, 'trying the upgrade on a copy', 2 * space);
  const aside = join(directory, `.drill.${process.pid}.tmp`);
  mkdirSync(aside, { mode: 0o700 });
  try {
    const began = monotonic();
    const order = { mirror: path, inbox: inbox_path, directory: aside, why: 'upgrade', made_by: version } as const;
    const made = await makeInChild({ ...order, now: now() }, signal);
    const backup_ms = Math.round(monotonic() - began);
    const changes = [changeOf(mirrorCopy(made.backup), join(aside, 'mirror.db'), mirrorFile, monotonic)];
    if (bytesOf(inbox_path) > 0)
      changes.push(changeOf(inboxCopy(made.backup), join(aside, 'inbox.db'), inboxFile, monotonic));
    const change_bytes = changes.reduce((sum, { bytes }) => sum + bytes, 0);
    const [before, after] = [shownBy(mirrorCopy(made.backup)), shownBy(join(aside, 'mirror.db'))];
    return {
      version,
      written_by: before.written_by,
      ...schemaSteps(mirror),
      contract: { from: before.contract_version, to: contractVersion },
      added: [...after.columns].filter((name) => !before.columns.has(name)).sort(),
      removed: [...before.columns].filter((name) => !after.columns.has(name)).sort(),
      backup_ms,
      change_ms: Math.round(changes.reduce((sum, { ms }) => sum + ms, 0)),
      ...tightest([
        { directory, bytes: space },
        { directory: dirname(path), bytes: change_bytes },
      ]),
    };
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/**
 * Brings a copy up to date as a start would. Returns how long it took, and the bytes it needed beyond those of the
 * file.
 */
function changeOf(
  copy: string,
  tried: string,
  kind: FileKind,
  monotonic: Clock['monotonic'],
): { readonly ms: number; readonly bytes: number } {
  copyFileSync(copy, tried, constants.COPYFILE_FICLONE);
  chmodSync(tried, kind.mode);
  const before = bytesOf(tried);
  const began = monotonic();
  const db = openForWriting(tried, kind);
  const log = bytesOf(tried) - before;
  db.close();
  return { ms: monotonic() - began, bytes: log + Math.max(0, bytesOf(tried) - before) };
}

/** Adds up the bytes needed on each disk, and returns the disk with the smallest margin. */
function tightest(needs: readonly { readonly directory: string; readonly bytes: number }[]) {
  const disks = Map.groupBy(needs, ({ directory }) => statSync(directory).dev);
  const found = [...disks.values()].map((on) => ({
    needed_bytes: on.reduce((sum, { bytes }) => sum + bytes, 0),
    free_bytes: freeIn(on[0]?.directory ?? ''),
  }));
  return found.reduce((least, each) =>
    each.free_bytes - each.needed_bytes < least.free_bytes - least.needed_bytes ? each : least,
  );
}

interface Shown {
  readonly contract_version: number;
  readonly written_by: string;
  readonly columns: ReadonlySet<string>;
}

function shownBy(path: string): Shown {
  const db = openReadOnly(path);
  try {
    const columns = db
      .prepare<[], string>(
        "SELECT v.name || '.' || c.name FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view'",
      )
      .pluck()
      .all();
    const own = readOwnRow(db);
    return {
      contract_version: own?.contract_version ?? 0,
      written_by: own?.written_by ?? 'nobody',
      columns: new Set(columns),
    };
  } finally {
    db.close();
  }
}
