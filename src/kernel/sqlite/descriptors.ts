import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { CataloguedError, exitCodes } from '../errors.ts';

/** The file descriptors of this process: files, connections and listeners. */
export interface Descriptors {
  /** Null: not one is left to count them with. */
  readonly used: number | null;
  readonly limit: number;
}

/** Returns the limit of this process; null: the system does not say, there is none, or no descriptor to read it with. */
export function descriptorLimit(): number | null {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return found === undefined ? null : Number(found);
  } catch {
    return null;
  }
}

/** Returns the number of descriptors in use; null if the system does not report it. */
export function descriptorsNow(limit: number | null): Descriptors | null {
  if (limit === null) return null;
  try {
    // One of them reads the directory.
    return { used: readdirSync('/proc/self/fd').length - 1, limit };
  } catch (error) {
    return isWithoutDescriptors(error) ? { used: null, limit } : null;
  }
}

/** A file of ours has two beside it, and SQLite lets go of all three where one of them cannot be opened. */
const neededAtOnce = 6;
const code = 'too-many-open-files';

/** Returns the error to report where something failed for want of a descriptor; null: it failed for another reason. */
export function outOfDescriptors(error: unknown): CataloguedError | null {
  if (!isWithoutDescriptors(error) && !areFew()) return null;
  const limit = descriptorLimit();
  return new CataloguedError(
    code,
    `this process may not open more files and connections${limit === null ? '' : `: its limit is ${limit}`}`,
    {
      exitCode: exitCodes.io,
      hint: 'raise the limit: ulimit -n 65536, or LimitNOFILE=65536 below [Service] (systemctl edit catalogued)',
      cause: error,
    },
  );
}

/** Returns whether a file of ours could not be opened now for want of descriptors. */
function areFew(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
  } catch (error) {
    return isWithoutDescriptors(error);
  }
  const now = descriptorsNow(descriptorLimit());
  return now !== null && (now.used === null || now.limit - now.used < neededAtOnce);
}

/** Returns whether an error, of the system or our own, means that this process or the machine had no descriptor left. */
export function isWithoutDescriptors(error: unknown): boolean {
  const found = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  // A thread that could not begin says it in its message alone.
  const inThread = found.code === 'ERR_WORKER_INIT_FAILED' && String(found.message).endsWith('EMFILE');
  return inThread || found.code === 'EMFILE' || found.code === 'ENFILE' || found.code === code;
}
