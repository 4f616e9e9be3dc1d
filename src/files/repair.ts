import type { Config } from '../config/load.ts';
import { type Entropy, newId, systemEntropy } from '../kernel/clock.ts';
import { noteOf } from '../kernel/sqlite/identity.ts';
import { forgetLastStop } from '../kernel/sqlite/last-stop.ts';
import { lookAt } from '../kernel/sqlite/look.ts';
import { mirrorFile } from '../mirror/sql/files.ts';
import { backupsIn, mirrorCopy } from './backups.ts';
import { holdFilesToBe } from './locks.ts';
import { type FoundFiles, findFiles, lastStopPath, refuseFiles } from './pair.ts';
import { type PairFacts, planRepair, type RepairPlan } from './pair-trouble.rules.ts';
import { feedNumbers, type Move, movesOf, pairAgain, place, setAside } from './replace.ts';

/** Result of `repair`: the steps that it took, or with `dry` would take. */
export interface Repair {
  /** Problem of each file, as text; null if it has none. */
  readonly mirror: string | null;
  readonly inbox: string | null;
  /** Null if there is nothing to do. */
  readonly plan: RepairPlan | null;
  /** Files that were set aside, with their new paths. */
  readonly moved: readonly Move[];
  /** Copy that replaced the mirror; null if none did. */
  readonly restored: string | null;
}

/**
 * One day. `repair` pretends that the receiver was away for it, so that everything that subscriptions cover is read
 * again.
 */
const dayMs = 86_400_000;

/**
 * Sets aside unusable files and prepares a start with the others. Destroys nothing, and can be repeated after a kill.
 * Refuses while a daemon runs (75), and for a file of another program (65).
 */
export function repairFiles(
  config: Config,
  { now, dry, entropy = systemEntropy }: { readonly now: number; readonly dry: boolean; readonly entropy?: Entropy },
): Repair {
  const { path, inbox_path } = config.mirror;
  using _ = holdFilesToBe(config);
  const found = findFiles(config, 'all');
  const plan = planRepair(found.facts);
  if (plan === 'refused') refuseFiles(config, { ...found, facts: onlyForeign(found.facts) });
  if (plan === null || plan === 'refused') {
    found.leave();
    // The next start checks both completely once more.
    if (!dry) forgetLastStop(lastStopPath(config.mirror));
    return { mirror: null, inbox: null, plan: null, moved: [], restored: null };
  }
  const backup = plan.restore ? newestBackup(config, now) : null;
  const intended = { ...plan, restore: backup !== null };
  const said = { mirror: problemOf(found, 'mirror'), inbox: problemOf(found, 'inbox') };
  const moves = [
    ...(plan.mirror === 'keep' ? [] : movesOf(path, now)),
    ...(plan.inbox === 'keep' ? [] : movesOf(inbox_path, now)),
  ];
  if (dry) found.leave();
  if (dry) return { ...said, plan: intended, moved: moves, restored: backup };
  const { ceiling, newest } = feedNumbers(config.mirror);
  const last_seen = Math.min(noteOf(inbox_path)?.modified_at ?? now, now - dayMs);
  for (const move of moves) setAside(move);
  if (backup !== null) place(backup, path, mirrorFile);
  const mirror = plan.mirror === 'keep' || backup !== null ? 'any' : 'none';
  pairAgain(inbox_path, {
    ceiling,
    // In a damaged mirror the number only proves that it was given out.
    newest: plan.mirror === 'keep' ? newest : 0,
    pair_id: newId(entropy),
    mirror,
    heartbeat: plan.inbox === 'keep' || mirror === 'none' ? null : last_seen,
  });
  forgetLastStop(lastStopPath(config.mirror));
  return { ...said, plan: intended, moved: moves, restored: backup };
}

/** Reduces the facts to the file of another program, so that it is reported even if more is wrong. */
function onlyForeign(facts: PairFacts): PairFacts {
  return facts.inbox === 'foreign' ? facts : { ...facts, inbox: 'missing', expects: null };
}

function problemOf({ facts, ...looks }: FoundFiles, name: 'mirror' | 'inbox'): string | null {
  if (facts[name] !== 'well') return looks[name].wrong ?? 'it is empty';
  return name === 'mirror' && facts.paired === false ? 'it belongs to another inbox' : null;
}

function newestBackup({ backup }: Config, now: number): string | null {
  const sound = (path: string) => lookAt(path, mirrorFile, 'thorough').condition === 'well';
  return backupsIn(backup.directory, now).map(mirrorCopy).reverse().find(sound) ?? null;
}
