import type { Config } from '../../config/load.ts';
import { type FileKind, schemaVersion } from '../../kernel/sqlite/database-file.ts';
import { lookBeside } from '../../kernel/sqlite/look.ts';
import { openReadOnly } from '../../kernel/sqlite/read-only.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { inboxFile } from '../../receiver/inbox.ts';

/** Change of the schema of one of the files by this version. */
export interface SchemaStep {
  readonly from: number;
  readonly to: number;
}

/** Changes of both files. Null: the schema stays. */
export interface SchemaSteps {
  readonly mirror: SchemaStep | null;
  readonly inbox: SchemaStep | null;
}

/** Returns the changes that this version will make to the schemas of the files at its next start. */
export function schemaSteps({ path, inbox_path }: Config['mirror']): SchemaSteps {
  return { mirror: stepOf(path, mirrorFile), inbox: stepOf(inbox_path, inboxFile) };
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
