import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type FileKind, schemaVersion } from '../../src/kernel/sqlite/file-kind.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import { packageRoot } from '../../src/package.ts';
import { inboxFile } from '../../src/receiver/inbox.ts';
import { temporaryDirectory } from './test-mirror.ts';

/*
 * The version after this one, made up: a step for each of the two files, and a view with a column more. Its names are no
 * member's of the service, so that no real step adds them too.
 */

const steps: Readonly<Record<'mirror' | 'inbox', string>> = {
  mirror: `-- Oldest safe version: 1.0.0
ALTER TABLE product ADD COLUMN next_version_line TEXT;
UPDATE product SET next_version_line = 'All of ' || title;
ALTER TABLE _zone_offset RENAME TO _zone;
ALTER TABLE _zone RENAME TO _zone_offset;
CREATE TABLE _walk_length (resource TEXT PRIMARY KEY, rows INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO _walk_length SELECT resource, count(*) FROM _walk_page, json_each(ids) GROUP BY resource;
CREATE INDEX _record_failed ON _record (failed_at) WHERE failed_at IS NOT NULL;
UPDATE slot_day SET rest = rest || ' ';
DROP INDEX _record_unread;
CREATE INDEX _record_unread ON _record (failures, lane) WHERE fetched_at IS NULL;
INSERT INTO product_search (product_search) VALUES ('rebuild');
`,
  inbox: `-- Oldest safe version: 1.0.0
ALTER TABLE delivery ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
UPDATE delivery SET weight = length(body) WHERE state = 'waiting';
ALTER TABLE inbox ADD COLUMN weighed INTEGER NOT NULL DEFAULT 0;
UPDATE inbox SET weighed = (SELECT coalesce(sum(weight), 0) FROM delivery);
CREATE TABLE weight_limit (subscription_id TEXT PRIMARY KEY, most INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO weight_limit SELECT DISTINCT subscription_id, 10 FROM delivery;
CREATE INDEX delivery_heavy ON delivery (weight) WHERE weight > 1000;
DROP INDEX told_order_age;
CREATE INDEX told_order_age ON told_order (told_at, order_number);
`,
};

/** Writes the schema of the next version into a directory, as schema/ is in a package. */
export function writeNextSchema(directory: string): void {
  cpSync(new URL('schema/', packageRoot), directory, { recursive: true });
  for (const [kind, step] of [
    [mirrorFile, steps.mirror],
    [inboxFile, steps.inbox],
  ] as const)
    writeFileSync(join(directory, kind.name, `${String(schemaVersion(kind) + 1).padStart(4, '0')}-next.sql`), step);
  const views = join(directory, 'mirror/views.sql');
  const text = readFileSync(views, 'utf8');
  const next = text.replace(' prediscount_price,\n', ' prediscount_price, next_version_line,\n');
  if (next === text) throw new Error('the view products does not begin as it did');
  writeFileSync(views, next);
}

/** Both files as the next version knows them. */
export interface NextVersion extends Disposable {
  /** Its schema/. */
  readonly schema: string;
  readonly mirror: FileKind;
  readonly inbox: FileKind;
  /** Makes this process one of the next version, until it is disposed. */
  install(): Disposable;
}

export function nextVersion(): NextVersion {
  const directory = temporaryDirectory();
  writeNextSchema(directory.path);
  return { ...versionOf(directory.path), [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

/** Returns the version whose schema stands in a directory. */
export function versionOf(schema: string): Omit<NextVersion, keyof Disposable> {
  const at = (path: string) => pathToFileURL(join(schema, path));
  const mirror = { migrations: at('mirror/'), views: at('mirror/views.sql') };
  const inbox = { migrations: at('inbox/') };
  return {
    schema,
    mirror: { ...mirrorFile, ...mirror },
    inbox: { ...inboxFile, ...inbox },
    install: () => {
      const before = [{ ...mirrorFile }, { ...inboxFile }];
      Object.assign(mirrorFile, mirror);
      Object.assign(inboxFile, inbox);
      return {
        [Symbol.dispose]: () => {
          Object.assign(mirrorFile, before[0]);
          Object.assign(inboxFile, before[1]);
        },
      };
    },
  };
}
