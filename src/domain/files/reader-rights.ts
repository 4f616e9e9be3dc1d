/** Access rights of the mirror's file or its directory. */
export interface Rights {
  /** The lowest twelve bits. */
  readonly mode: number;
  readonly gid: number;
}

/** A path whose rights were taken from its readers, and what gives them back. */
export interface ShutOut {
  readonly path: string;
  /** Null: the group is the same, or had no rights. */
  readonly group_was: number | null;
  /** Null: readers keep the rights of the mode. */
  readonly mode_was: number | null;
  readonly now: Rights;
}

/** The rights of group and others: readers other than the daemon have theirs by one of the two. */
const ofReaders = 0o077;
const ofGroup = 0o070;

/** Returns what readers had before and have no more; null: they have it all. */
export function shutOutOf(path: string, before: Rights, now: Rights): ShutOut | null {
  const mode_was = (before.mode & ~now.mode & ofReaders) === 0 ? null : before.mode;
  const group_was = before.gid === now.gid || (before.mode & ofGroup) === 0 ? null : before.gid;
  return mode_was === null && group_was === null ? null : { path, group_was, mode_was, now };
}
