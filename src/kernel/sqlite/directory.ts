import { accessSync, chmodSync, constants, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CataloguedError, exitCodes } from '../errors.ts';
import { isWithoutRoom } from './fault.ts';
import { type MakeOne, makeDirectory } from './make-directory.ts';

/** `statfs.type` of file systems on which SQLite's WAL is not safe: its index has to be in one host's memory. */
const networkFileSystems: Readonly<Record<number, string>> = {
  26985: 'NFS',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  20859: 'SMB',
  16914839: '9p',
  1702057286: 'FUSE',
  12805120: 'Ceph',
  198183888: 'Lustre',
};

/** Returns the type of the file system of a path. An argument, so that a test can simulate an NFS mount. */
export type FileSystemType = (path: string) => number;

const systemFileSystemType: FileSystemType = (path) => statfsSync(path).type >>> 0;

/** Returns the name of the network file system that a path is on; null: none that is known. */
export function networkFileSystem(path: string, fileSystemType = systemFileSystemType): string | null {
  return networkFileSystems[fileSystemType(path)] ?? null;
}

/** The parts of a disk that a test replaces. */
export interface DirectoryDisk {
  readonly fileSystemType?: FileSystemType;
  readonly make?: MakeOne;
}

/**
 * Makes a directory with exactly this mode, or takes an existing one as it is. Refuses a network file system (78)
 * and a path that cannot be made or used (77).
 */
export function prepareDirectory(
  path: string,
  mode: number,
  { fileSystemType = systemFileSystemType, make }: DirectoryDisk = {},
): Stats {
  try {
    // mkdir subtracts the umask and inherits the setgid bit: the mode is set again. Only a directory we made is ours to set.
    if (makeDirectory(path, mode & 0o777, make)) setMode(path, mode);
    const kind = networkFileSystem(path, fileSystemType);
    if (kind !== null) {
      throw new CataloguedError('network-file-system', `${path} is on a network file system (${kind})`, {
        exitCode: exitCodes.configuration,
        hint: 'put mirror.path and mirror.state_dir on a local disk; readers on other hosts use the published snapshot',
      });
    }
    return statSync(path);
  } catch (error) {
    if (error instanceof CataloguedError) throw error;
    throw new CataloguedError('directory', unusable(path, error), {
      exitCode: exitCodes.permission,
      hint: `create it for this user: mkdir -p ${path} && chown "$(id -u)" ${path}`,
      cause: error,
    });
  }
}

function unusable(path: string, error: unknown): string {
  const standing = nearestDirectory(path);
  return standing === null || standing === path
    ? `cannot use the directory ${path}: ${reasonOf(error)}`
    : `there is no directory ${path}, and it cannot be created in ${standing}: ${reasonOf(whyNotIn(standing) ?? error)}`;
}

/** Returns why nothing can be made in a directory; null: nothing is known against it. */
function whyNotIn(directory: string): unknown {
  try {
    accessSync(directory, constants.W_OK);
    return null;
  } catch (error) {
    return error;
  }
}

/** Returns the last part of a path that is there; null: something on it may not be looked at, or is no directory. */
export function nearestDirectory(path: string): string | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return dirname(path) === path ? null : nearestDirectory(dirname(path));
    return found.isDirectory() ? path : null;
  } catch {
    return null;
  }
}

/** Under systemd's RestrictSUIDSGID the setgid bit is refused: there StateDirectoryMode has set it. */
function setMode(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch {
    chmodSync(path, mode & 0o777);
  }
}

/** Returns whether a path lies on a file system that is mounted, or has become, read-only. */
export function isOnReadOnlySystem(path: string): boolean {
  return (whyNotIn(dirname(path)) as NodeJS.ErrnoException | null)?.code === 'EROFS';
}

export function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'ENOENT') return 'its file system makes no directories';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'something on its path is not a directory';
  if (isWithoutRoom(error)) return 'the disk is full, or the quota of this user is used up';
  return code ?? String(error);
}

/** Returns what to do if storefronts of another user cannot read in this directory; null: its group can. */
export function unshared(directory: string): string | null {
  const stats = statOf(directory);
  if (stats === null || (stats.mode & 0o3070) === 0o3070) return null;
  return `to let storefronts of other users create files beside the mirror: chmod 3770 ${directory}, and add them to its group`;
}

/** Returns what the file system says of a path; null: there is nothing, or nothing that this user may see. */
export function statOf(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
