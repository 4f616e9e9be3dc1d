import { fileURLToPath } from 'node:url';
import { CataloguedError, type ExitCode } from '../../kernel/errors.ts';
import { ownProgram } from '../../package.ts';
import { runOwnProcess } from '../own-process.ts';
import type { Drill } from './drill.ts';
import type { BackupOrder, MadeBackup } from './make.ts';

/** Work for the child process. */
export type BackupWork =
  | { readonly make: BackupOrder }
  | { readonly drill: { readonly backup: string; readonly now: number } };

/** An error as the child reports it, in one line. */
export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly exitCode: ExitCode;
  readonly hint: string | null;
}

/**
 * Makes a backup in a separate process, which is killed when the signal is aborted. Files that it leaves have a
 * temporary name.
 */
export async function makeInChild(make: BackupOrder, signal: AbortSignal): Promise<MadeBackup> {
  return (await inChild({ make }, signal)) as MadeBackup;
}

/** Tests a backup in a separate process. */
export async function drillInChild(
  drill: { readonly backup: string; readonly now: number },
  signal: AbortSignal,
): Promise<Drill> {
  return (await inChild({ drill }, signal)) as Drill;
}

async function inChild(work: BackupWork, signal: AbortSignal): Promise<unknown> {
  const program = fileURLToPath(ownProgram('files/backup/child'));
  const { out, failure } = await runOwnProcess(program, [JSON.stringify(work)], signal);
  if (failure !== null) throw errorOf(failure);
  return JSON.parse(out);
}

/**
 * Returns the error of the child. Text that is not a `ReportedError` comes from Node, or describes a process that was
 * killed.
 */
function errorOf(said: string): Error {
  if (!said.startsWith('{')) return new Error(said);
  const { code, message, exitCode, hint } = JSON.parse(said) as ReportedError;
  return new CataloguedError(code, message, { exitCode, ...(hint === null ? {} : { hint }) });
}
