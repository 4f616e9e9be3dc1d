import { readFileSync } from 'node:fs';
import { readDocument } from '../../config/document.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { all, type Habits, refuseHabits } from '../../sandbox/rough/habits.ts';

/**
 * Returns the habits that `--habits` names: all of them, or those in a YAML or JSON file. Throws (78) for a file that
 * cannot be used.
 */
export function readHabits(given: string): Partial<Habits> {
  if (given === 'all') return all;
  let text: string;
  try {
    text = readFileSync(given, 'utf8');
  } catch (cause) {
    throw refused(`cannot read habits from ${given}`, cause);
  }
  const { values, problems } = readDocument(text);
  const [problem] = problems;
  const wrong = problem?.text ?? refuseHabits(values);
  if (wrong !== null && wrong !== undefined)
    throw refused(`${given}${problem?.line ? `, line ${problem.line}` : ''}: ${wrong}`);
  return values as Partial<Habits>;
}

function refused(message: string, cause?: unknown): CataloguedError {
  return new CataloguedError('sandbox-habits', message, {
    exitCode: exitCodes.configuration,
    hint: 'pass all, or a file like: { cached_ms: 6000, dates: weeks, faults: [{ kind: no-dates, share: 0.5 }] }',
    ...(cause === undefined ? {} : { cause }),
  });
}
