import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { statOf } from '../kernel/sqlite/directory.ts';
import { type Rights, type ShutOut, shutOutOf } from './reader-rights.rules.ts';

/** Compares the rights to the mirror and its directory with those when the daemon began. */
export class ReaderRights {
  /** In the order in which a reader of the file meets them. */
  readonly #before: readonly { readonly path: string; readonly rights: Rights }[];

  constructor(mirror_path: string) {
    this.#before = [dirname(mirror_path), mirror_path].flatMap((path) => {
      const rights = rightsOf(path);
      return rights === null ? [] : [{ path, rights }];
    });
  }

  /**
   * Returns as text what readers can no longer do, and the commands that restore it; null if nothing was taken from
   * them.
   */
  lost(): string | null {
    const found = this.#before.flatMap(({ path, rights }) => {
      const now = rightsOf(path);
      const taken = now === null ? null : shutOutOf(path, rights, now);
      return taken === null ? [] : [{ taken, rights }];
    });
    return found.length === 0 ? null : found.map(({ taken, rights }) => said(taken, rights)).join('; ');
  }
}

function rightsOf(path: string): Rights | null {
  const stats = statOf(path);
  return stats === null ? null : { mode: stats.mode & 0o7777, gid: stats.gid };
}

function said({ path, group_was, mode_was, now }: ShutOut, before: Rights): string {
  const described = ({ mode, gid }: Rights) => `${octal(mode)}, group ${groupName(gid)}`;
  const commands = [
    ...(group_was === null ? [] : [`chgrp ${groupName(group_was)} ${path}`]),
    // chgrp removes the set-group bit.
    ...(mode_was === null && group_was === null ? [] : [`chmod ${octal(mode_was ?? before.mode)} ${path}`]),
  ];
  return `${path} was ${described(before)} and is ${described(now)}: readers in the group ${groupName(before.gid)} are shut out (${commands.join(' && ')})`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

/** Returns the name of a group, or its number if it has none. */
export function groupName(gid: number): string {
  try {
    return execFileSync('getent', ['group', String(gid)], { encoding: 'utf8' }).split(':')[0] ?? String(gid);
  } catch {
    return String(gid);
  }
}
