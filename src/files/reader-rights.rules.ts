/** Access rights of the mirror's file or its directory. */
export interface Rights {
  /** The lowest twelve bits. */
  readonly mode: number;
  readonly gid: number;
}

/** A path whose rights were taken from its readers, with the rights that restore access. */
export interface ShutOut {
  readonly path: string;
  /** Earlier group. Null if it is the same, or had no rights. */
  readonly group_was: number | null;
  /** Earlier mode. Null if readers keep the rights of the mode. */
  readonly mode_was: number | null;
  readonly now: Rights;
}

/** Rights of group and others. All readers except the daemon use one of the two. */
const ofReaders = 0o077;
const ofGroup = 0o070;

/** Returns the rights that readers had before and have lost; null if they have lost none. */
export function shutOutOf(path: string, before: Rights, now: Rights): ShutOut | null {
  const mode_was = (before.mode & ~now.mode & ofReaders) === 0 ? null : before.mode;
  const group_was = before.gid === now.gid || (before.mode & ofGroup) === 0 ? null : before.gid;
  return mode_was === null && group_was === null ? null : { path, group_was, mode_was, now };
}
