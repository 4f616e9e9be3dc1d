import { document } from '../../documents.ts';

/* docs/faults.md is the table of faults: what is run, and what is measured, is read from it and written into it. */

/** A test of the suite: its file, relative to the repository's root, and part of its full name as it is written there. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** A fault of the table, and all that shows what becomes of it. */
export interface Row {
  readonly id: string;
  /** The fault, and how it is injected. */
  readonly fault: string;
  readonly expected: string;
  readonly control: string;
  /** Tests that show it, and those that show that these would notice. */
  readonly tests: readonly NamedTest[];
  /** Rows whose runs of `npm run faults` show it. */
  readonly by: readonly string[];
  /** Other npm scripts, which take minutes and a program of their own: run by `--long`. */
  readonly commands: readonly string[];
  /** What of it is thought through and not run. */
  readonly open: string;
}

/** A bug that was found, and what keeps it from coming back. */
export interface FoundBug {
  /** The commit that mended it; null: one after `wrong` that had not landed when this was written: landing may rename it. */
  readonly mended: string | null;
  /** The one before, or the last that had landed: it is still wrong there. */
  readonly wrong: string;
  readonly tests: readonly NamedTest[];
}

/** The tests that a cell names: `[faults/kill](../test/faults/kill.test.ts) “part of its full name”`. */
function testsIn(cell: string): NamedTest[] {
  const named = cell.matchAll(/\]\(\.\.\/(test\/\S+?\.test\.ts)\) “(.*?)”(?=, |$)/g);
  return [...named].map(([, file = '', title = '']) => ({ file, title }));
}

/** The cells of each line of the table whose heading begins so. */
function linesBelow(text: string, heading: string): string[][] {
  const [, table = ''] = text.split(heading);
  const [, , ...lines] = table.split('\n\n')[0]?.split('\n') ?? [];
  return lines.map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.trim()),
  );
}

/** Every fault that was thought of: the first eighty, those of copies, followers and instances, and programs of their own. */
export function rowsIn(text: string): Row[] {
  return linesBelow(text, '| # | Fault,').map(
    ([id = '', fault = '', expected = '', , control = '', shown = '', open = '']) => {
      const scripts = [...shown.matchAll(/`npm run ([^`]+)`/g)].map(([, script = '']) => script);
      const own = /^faults -- --only (\w+)$/;
      return {
        ...{ id, fault, expected, control, open },
        tests: [...testsIn(shown), ...testsIn(control)],
        by: scripts.flatMap((script) => own.exec(script)?.[1] ?? []),
        commands: scripts.filter((script) => !own.test(script)),
      };
    },
  );
}

/** In the order in which they were mended. */
export function trackRecordIn(text: string): FoundBug[] {
  return linesBelow(text, '| Bug | Found by |').map(([, , mended = '', wrong = '', test = '']) => ({
    mended: mended === '–' ? null : mended,
    wrong,
    tests: testsIn(test),
  }));
}

export const rows = rowsIn(document('docs/faults.md'));

/** The document with what was measured, by the row's id. */
export function withMeasured(text: string, measured: ReadonlyMap<string, string>): string {
  return text.replaceAll(/^\| (\w+) \| (.*)$/gm, (line, id: string, rest: string) => {
    const found = measured.get(id);
    if (found === undefined) return line;
    const [fault, expected, , ...others] = rest.split(' | ');
    return `| ${[id, fault, expected, found.replaceAll('|', '\\|'), ...others].join(' | ')}`;
  });
}
