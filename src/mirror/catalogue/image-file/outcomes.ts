import type { Instant } from '../../../clock.ts';
import { type Bound, listed, sql, type Writes } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { ImageFile, ImageFileKey, StoredFile } from './image-file.ts';

/** Results of requests for files. A result is recorded only if the row still has the URL that was requested. */
export interface FileOutcomes {
  stored(row: ImageFile, file: StoredFile, due_at: Instant): void;
  unchanged(row: ImageFile, checked_at: Instant, due_at: Instant): void;
  failed(row: ImageFile, failure: { at: Instant; text: string; due_at: Instant }): void;
  gone(row: ImageFile, checked_at: Instant, due_at: Instant): void;
  postpone(origin: string, until: Instant): void;
  lost(files: readonly string[], now: Instant): number;
}

type Asked = ImageFileKey & Pick<ImageFile, 'url'>;
interface Checked extends Asked {
  readonly checked_at: Instant;
  readonly due_at: Instant;
}

/** A row without a file. */
const none = {
  file: null,
  checksum: null,
  media_type: null,
  width: null,
  height: null,
  bytes: null,
  etag: null,
  last_modified: null,
} as const;

const noFailure = { failures: 0, failure: null, failure_kind: null } as const;

export function fileOutcomes(db: Writes): FileOutcomes {
  return { ...answers(db), ...withoutAnswer(db) };
}

function rowOf({ product_id, image_key, size, url }: Bound<Asked>) {
  return query
    .updateTable('_image_file')
    .where('product_id', '=', product_id)
    .where('image_key', '=', image_key)
    .where('size', '=', size)
    .where('url', '=', url);
}

function answers(db: Writes): Pick<FileOutcomes, 'stored' | 'unchanged' | 'failed' | 'gone'> {
  const store = db.change((bound: Bound<Asked & StoredFile & { due_at: Instant }>) => {
    const { file, checksum, media_type, width, height, bytes, etag, last_modified, fetched_at, due_at } = bound;
    return rowOf(bound)
      .set({ file, checksum, media_type, width, height, bytes, etag, last_modified })
      .set({ fetched_at, checked_at: fetched_at, due_at, ...noFailure });
  });
  const check = db.change((bound: Bound<Checked>) =>
    rowOf(bound).set({ checked_at: bound.checked_at, due_at: bound.due_at, ...noFailure }),
  );
  const fail = db.change((bound: Bound<Checked & { text: string }>) =>
    rowOf(bound)
      .set({ checked_at: bound.checked_at, due_at: bound.due_at, failure: bound.text, failure_kind: 'failed' })
      .set((of) => ({ failures: of('failures', '+', 1) })),
  );
  const gone = db.change((bound: Bound<Checked>) =>
    rowOf(bound)
      .set({ ...none, checked_at: bound.checked_at, due_at: bound.due_at, failure: 'gone', failure_kind: 'gone' })
      .set((of) => ({ failures: of('failures', '+', 1) })),
  );
  return {
    stored: (row, file, due_at) => {
      store.run({ ...keyOf(row), ...file, due_at });
    },
    unchanged: (row, checked_at, due_at) => {
      check.run({ ...keyOf(row), checked_at, due_at });
    },
    failed: (row, { at, text, due_at }) => {
      fail.run({ ...keyOf(row), checked_at: at, text, due_at });
    },
    gone: (row, checked_at, due_at) => {
      gone.run({ ...keyOf(row), checked_at, due_at });
    },
  };
}

function keyOf({ product_id, image_key, size, url }: ImageFile): Asked {
  return { product_id, image_key, size, url };
}

function withoutAnswer(db: Writes): Pick<FileOutcomes, 'postpone' | 'lost'> {
  const postpone = db.change(({ origin, until }: Bound<{ origin: string; until: Instant }>) =>
    query
      .updateTable('_image_file')
      .set({ due_at: until })
      .where('due_at', '<', until)
      .where((of) => sql<boolean>`substr(${of.ref('url')}, 1, length(${origin}) + 1) = ${origin} || '/'`),
  );
  const lost = db.change(({ files, now }: Bound<{ files: string; now: Instant }>) =>
    query
      .updateTable('_image_file')
      .set({ ...none, due_at: now })
      .where('file', 'in', listed<string>(files)),
  );
  return {
    postpone: (origin, until) => {
      postpone.run({ origin, until });
    },
    lost: (files, now) => lost.run({ files: JSON.stringify(files), now }).changes,
  };
}
