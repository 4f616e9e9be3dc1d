import { todoOf } from '../../domain/conditions/table.ts';
import { type HeldClaims, heldText, isOpen } from '../../domain/evidence/hold.ts';
import { shortListText, type ToldShortList } from '../../domain/sale/short-list.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { counted, number } from '../../format.ts';
import type { JobState } from '../../mirror/schedule/jobs.ts';
import type { Io } from '../terminal/io.ts';

type WalkedShortList = ToldShortList & { readonly walked_at: number };

/** Prints which of the requested products the mirror did not have. */
export function printFound({ stderr }: Io, found: readonly number[]): void {
  if (found.length > 0)
    stderr.write(`Not mirrored until now: product ${found.join(', ')}. The service has it, so it is mirrored now.\n`);
}

/** Says how far a job has come. */
export function doneSays({ records, left, failed }: JobState): string {
  const failures = failed === 0 ? '' : `, ${number(failed)} of them without success`;
  return `${number(records - left)} of ${counted(records, 'record')} ${records === 1 ? 'was' : 'were'} read${failures}`;
}

/**
 * Prints that every record of a job was refreshed. If some failed, throws (69) and names all open holds, because any of
 * them may be the reason. `short_lists`: the incomplete lists. Those walked since the job was requested are named.
 */
export function concludeJob(
  { stdout, stderr }: Io,
  job: JobState,
  { short_lists, held }: { readonly short_lists: readonly WalkedShortList[]; readonly held: readonly HeldClaims[] },
  now: number,
): void {
  const short = short_lists.filter(({ walked_at }) => walked_at >= job.requested_at).map(shortListText);
  const incomplete = `the list is incomplete: ${short.join('; ')}`;
  if (job.failed > 0) {
    const failed = `${number(job.failed)} of ${counted(job.records, 'record')} could not be refreshed`;
    const kept = held.filter(isOpen).map((each) => `; held: ${heldText(each, now)}`);
    const says = `${failed}${kept.join('')}`;
    if (short.length > 0)
      throw new CataloguedError('list-incomplete', `${incomplete}; ${says}`, {
        exitCode: exitCodes.unavailable,
        hint: todoOf('list-incomplete'),
      });
    throw new CataloguedError(kept.length > 0 ? 'held' : 'some-failed', says, {
      exitCode: exitCodes.unavailable,
      hint:
        kept.length > 0
          ? todoOf('held')
          : 'see which ones with: catalogued status (failed records are retried automatically)',
    });
  }
  // Three walks in a row had the same shortage, so it no longer counts as a failure.
  if (short.length > 0) stderr.write(`Warning: ${incomplete}\n`);
  stdout.write(`${job.records === 1 ? 'The record was' : `All ${number(job.records)} records`} refreshed.\n`);
}
