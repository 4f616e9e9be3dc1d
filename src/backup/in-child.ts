import { fileURLToPath } from 'node:url';
import { CataloguedError, type ExitCode } from '../errors.ts';
import { runOwnProcess } from '../files/own-process.ts';
import { ownProgram } from '../package.ts';
import type { Drill } from './drill.ts';
import type { BackupOrder, MadeBackup } from './make.ts';

/** What the child is told to do. */
export type BackupWork =
  | { readonly make: BackupOrder }
  | { readonly drill: { readonly backup: string; readonly now: number } };

/** An error as the child tells it, in one line. */
export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly exitCode: ExitCode;
  readonly hint: string | null;
}

/** Makes a backup in a process of its own, which is killed when the signal is aborted: what it leaves has a temporary name. */
export async function makeInChild(make: BackupOrder, signal: AbortSignal): Promise<MadeBackup> {
  return (await inChild({ make }, signal)) as MadeBackup;
}

/** Tries a backup in a process of its own. */
export async function drillInChild(
  drill: { readonly backup: string; readonly now: number },
  signal: AbortSignal,
): Promise<Drill> {
  return (await inChild({ drill }, signal)) as Drill;
}

async function inChild(work: BackupWork, signal: AbortSignal): Promise<unknown> {
  const program = fileURLToPath(ownProgram('backup/child'));
  const { out, failure } = await runOwnProcess(program, [JSON.stringify(work)], signal);
  if (failure !== null) throw errorOf(failure);
  return JSON.parse(out);
}

/** What is no `ToldError` was said by Node, or by nobody: a process that was killed. */
function errorOf(said: string): Error {
  if (!said.startsWith('{')) return new Error(said);
  const { code, message, exitCode, hint } = JSON.parse(said) as ToldError;
  return new CataloguedError(code, message, { exitCode, ...(hint === null ? {} : { hint }) });
}
