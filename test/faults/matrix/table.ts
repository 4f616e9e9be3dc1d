import { document } from '../../documents.ts';

/* docs/faults.md is the table of faults: what is run is read from it. */

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
function rowsIn(text: string): Row[] {
  return linesBelow(text, '| # | Fault,').map(
    ([id = '', fault = '', expected = '', control = '', shown = '', open = '']) => {
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

export const rows = rowsIn(document('docs/faults.md'));
