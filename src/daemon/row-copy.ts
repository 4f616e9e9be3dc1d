import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RowCopy } from '../admin/rows.ts';
import type { Clock } from '../clock.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { copyInChild } from '../snapshot/snapshot.ts';

export interface RowCopyPorts {
  /** Throws if no rows are published. */
  readonly refuse: () => void;
  readonly mirror_path: string;
  /** Called before a copy is sent. If it rejects, the copy is not sent. */
  readonly made: () => Promise<void> | undefined;
  /** Directory of the copy until it is sent. */
  readonly directory: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Returns a function that makes copies with which followers begin, in a separate process, one at a time. A second
 * request meanwhile is refused (503). The copy's name is removed before it is sent, so that nothing is left of it even
 * if the daemon is killed.
 */
export function rowCopies({
  refuse,
  made,
  mirror_path,
  directory,
  clock,
  signal,
}: RowCopyPorts): () => Promise<RowCopy> {
  let under_way = false;
  return async () => {
    refuse();
    if (under_way) throw busy();
    under_way = true;
    const path = join(directory, 'follow.db');
    try {
      const published_at = clock.now();
      const { bytes } = await copyInChild(mirror_path, path, signal);
      await made();
      return { file: await open(path, 'r'), bytes, published_at };
    } finally {
      rmSync(path, { force: true });
      under_way = false;
    }
  };
}

function busy(): CataloguedError {
  return new CataloguedError('copy-under-way', 'a copy is being made for another follower', {
    exitCode: exitCodes.retryLater,
    hint: 'ask again in a few seconds',
  });
}
