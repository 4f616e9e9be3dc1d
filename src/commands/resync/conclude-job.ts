import { CataloguedError, exitCodes } from '../../errors.ts';
import { number } from '../../format.ts';
import type { JobState } from '../../mirror/schedule/jobs.ts';
import type { Io } from '../terminal/io.ts';

/** Says how far a job has come. */
export function doneSays({ records, left, failed }: Pick<JobState, 'records' | 'left' | 'failed'>): string {
  const failures = failed === 0 ? '' : `, ${number(failed)} of them without success`;
  return `${number(records - left)} of ${number(records)} records were read${failures}`;
}

/** Prints that every record of a job was refreshed; throws where some failed (69). */
export function concludeJob({ stdout }: Io, job: JobState): void {
  if (job.failed > 0) {
    throw new CataloguedError(
      'some-failed',
      `${number(job.failed)} of ${number(job.records)} records could not be refreshed`,
      {
        exitCode: exitCodes.unavailable,
        hint: 'see which ones with: catalogued status (failed records are retried automatically)',
      },
    );
  }
  stdout.write(`All ${number(job.records)} records refreshed.\n`);
}
