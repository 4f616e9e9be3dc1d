import type { Config } from '../../config/load.ts';
import { type Entropy, newId, systemEntropy } from '../../kernel/clock.ts';
import { forgetLastStop } from '../../kernel/sqlite/last-stop.ts';
import { mirrorFile } from '../../mirror/sql/files.ts';
import { inboxFile } from '../../receiver/inbox.ts';
import { inboxCopy, mirrorCopy } from '../backups.ts';
import { holdFilesToBe } from '../locks.ts';
import { findFiles, lastStopPath, refuseFiles } from '../pair.ts';
import { feedNumbers, type Move, movesOf, pairAgain, place, setAside } from '../replace.ts';
import { verifyBackup } from './drill.ts';
import type { Manifest } from './manifest.ts';

/** Result of `restore`: the steps that it took, or with `dry` would take. */
export interface Restore {
  readonly backup: string;
  readonly made_at: number;
  readonly made_by: string;
  readonly mirror: string;
  /**
   * `kept`: the inbox stays, with every delivery since the backup. `restored`: the backup's inbox replaced it. `none`:
   * neither has one.
   */
  readonly inbox: 'kept' | 'restored' | 'none';
  /** Files that were set aside, with their new paths. */
  readonly moved: readonly Move[];
}

export interface RestoreOptions {
  readonly now: number;
  readonly dry: boolean;
  readonly entropy?: Entropy;
  /** Manifest of the backup, if the caller has just verified it. */
  readonly manifest?: Manifest;
}

/**
 * Replaces the mirror with a backup, also on a host that has neither file. A sound inbox stays: deliveries since the
 * backup are applied again. Destroys nothing, and can be repeated after a kill. Refuses while a daemon runs (75), a
 * backup that differs from its manifest, and a file of another program at its path (65).
 */
export function restoreBackup(
  config: Config,
  backup: string,
  { now, dry, entropy = systemEntropy, manifest = verifyBackup(backup) }: RestoreOptions,
): Restore {
  const { path, inbox_path } = config.mirror;
  using _ = holdFilesToBe(config);
  const found = findFiles(config, 'all');
  found.leave();
  const { facts } = found;
  if (facts.mirror === 'foreign' || facts.inbox === 'foreign') refuseFiles(config, found);
  const inbox = facts.inbox === 'well' ? 'kept' : manifest.inbox === null ? 'none' : 'restored';
  const moved = [...movesOf(path, now), ...(inbox === 'kept' ? [] : movesOf(inbox_path, now))];
  const done: Restore = { backup, made_at: manifest.made_at, made_by: manifest.made_by, mirror: path, inbox, moved };
  if (dry) return done;
  const { ceiling } = feedNumbers(config.mirror);
  for (const move of moved) setAside(move);
  place(mirrorCopy(backup), path, mirrorFile);
  if (inbox === 'restored') place(inboxCopy(backup), inbox_path, inboxFile);
  pairAgain(inbox_path, {
    pair_id: newId(entropy),
    mirror: 'any',
    ceiling,
    newest: 0,
    // Deliveries since the backup are lost with the other inbox, so everything that subscriptions cover is read again.
    heartbeat: inbox === 'kept' ? null : manifest.made_at,
  });
  forgetLastStop(lastStopPath(config.mirror));
  return done;
}
