import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RowCopy } from '../admin/rows.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { copyInChild } from '../snapshot/snapshot.ts';
import type { Daemon } from './context.ts';

/**
 * Returns a function that makes copies with which followers begin, in a separate process, one at a time. A second
 * request meanwhile is refused (503). The copy's name is removed before it is sent, so that nothing is left of it even
 * if the daemon is killed. `refuse` throws if no rows are published; if `made` rejects, the copy is not sent.
 */
export function rowCopies(
  { mirror, config, sync: { clock }, stopping }: Daemon,
  refuse: () => void,
  made: () => Promise<void> | undefined,
): () => Promise<RowCopy> {
  let under_way = false;
  return async () => {
    refuse();
    if (under_way) throw busy();
    under_way = true;
    const path = join(config.mirror.state_dir, 'follow.db');
    try {
      const published_at = clock.now();
      const { bytes } = await copyInChild(mirror.path, path, stopping);
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
