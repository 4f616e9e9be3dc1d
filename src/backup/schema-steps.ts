import type { Config } from '../config/load.ts';
import { inboxFile } from '../inbox/inbox.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { type FileKind, schemaVersion } from '../sqlite/database-file.ts';
import { lookBeside } from '../sqlite/look.ts';
import { openReadOnly } from '../sqlite/read-only.ts';

/** The schema of one of the files, and the one that this version brings it up to. */
export interface SchemaStep {
  readonly from: number;
  readonly to: number;
}

/** Null: the schema stays. */
export interface SchemaSteps {
  readonly mirror: SchemaStep | null;
  readonly inbox: SchemaStep | null;
}

/** Tells whether this version will change the schema of either file at its next start. */
export function schemaSteps({ mirror }: Pick<Config, 'mirror'>): SchemaSteps {
  return { mirror: stepOf(mirror.path, mirrorFile), inbox: stepOf(mirror.inbox_path, inboxFile) };
}

function stepOf(path: string, kind: FileKind): SchemaStep | null {
  if (lookBeside(path, kind, 'header').condition !== 'well') return null;
  const db = openReadOnly(path);
  try {
    const from = Number(db.pragma('user_version', { simple: true }));
    const to = schemaVersion(kind);
    return from < to ? { from, to } : null;
  } finally {
    db.close();
  }
}
