import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { RecordedAnswer } from './recording.ts';

/**
 * Reads the files written by `catalogued probe --record`, one per answer, in order. Throws (65) if the directory has
 * none.
 */
export function readRecording(directory: string): RecordedAnswer[] {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  } catch (cause) {
    throw refused(`there is no recording in ${directory}`, cause);
  }
  const answers = names.sort().map((name) => readAnswer(directory, name));
  if (!answers.some(({ resource, status }) => resource === 'products' && status === 200))
    throw refused(`${directory} has no recorded product list`);
  return answers;
}

function readAnswer(directory: string, name: string): RecordedAnswer {
  let json: Partial<RecordedAnswer> | null;
  try {
    json = JSON.parse(readFileSync(join(directory, name), 'utf8')) as Partial<RecordedAnswer> | null;
  } catch (cause) {
    throw refused(`${join(directory, name)} is not JSON`, cause);
  }
  const { resource, status, recorded_on } = json ?? {};
  if (typeof resource !== 'string' || typeof status !== 'number' || Number.isNaN(Date.parse(recorded_on ?? '')))
    throw refused(`${join(directory, name)} is no recorded answer: it lacks resource, status or recorded_on (a date)`);
  return json as RecordedAnswer;
}

function refused(message: string, cause?: unknown): CataloguedError {
  return new CataloguedError('recording', message, {
    exitCode: exitCodes.data,
    hint: 'catalogued probe --record DIR makes one',
    ...(cause === undefined ? {} : { cause }),
  });
}
