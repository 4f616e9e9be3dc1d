import { readFileSync } from 'node:fs';
import { readDocument } from '../../config/document.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { all, type Quirks, refuseQuirks } from '../../sandbox/rough/quirks.ts';

/**
 * Returns the quirks that `--quirks` names: all of them, or those in a YAML or JSON file. Throws (78) for a file that
 * cannot be used.
 */
export function readQuirks(given: string): Partial<Quirks> {
  if (given === 'all') return all;
  let text: string;
  try {
    text = readFileSync(given, 'utf8');
  } catch (cause) {
    throw refused(`cannot read quirks from ${given}`, cause);
  }
  const { values, problems } = readDocument(text);
  const [problem] = problems;
  const wrong = problem?.text ?? refuseQuirks(values);
  if (wrong !== null && wrong !== undefined)
    throw refused(`${given}${problem?.line ? `, line ${problem.line}` : ''}: ${wrong}`);
  return values as Partial<Quirks>;
}

function refused(message: string, cause?: unknown): CataloguedError {
  return new CataloguedError('sandbox-quirks', message, {
    exitCode: exitCodes.configuration,
    hint: 'pass all, or a file like: { cached_ms: 6000, dates: weeks, faults: [{ kind: no-dates, share: 0.5 }] }',
    ...(cause === undefined ? {} : { cause }),
  });
}
