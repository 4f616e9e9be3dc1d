import { parse } from 'yaml';
import { document } from '../../documents.ts';

/** A test of the suite: its file, relative to the repository's root, and part of its full name as it is written there. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** A fault of the table, and all that shows its outcome. */
export interface Row {
  readonly id: string;
  /** The fault, and how it is injected. */
  readonly injected: string;
  readonly expected: string;
  /** Tests that show it, and those that show that these would notice. */
  readonly tests: readonly NamedTest[];
  /** Rows whose runs of `npm run faults` show it. */
  readonly by: readonly string[];
  /** Other npm scripts, which take minutes and a program of their own: run by `--long`. */
  readonly commands: readonly string[];
  readonly control: string;
  /** What no run covers. */
  readonly open: string;
}

type Written = Pick<Row, 'expected'> & { shown: string[]; control?: string[]; open?: string };

/** Reads a row of the file, whose first member is its name with the fault. */
function rowOf({ expected, shown, control = [], open = '', ...named }: Written): Row {
  const [[id, injected] = ['', '']] = Object.entries<string>(named);
  const tests = [...shown, ...control].flatMap((each) => {
    const [file, title] = each.split(/(?<=^\S+) > /);
    return title === undefined ? [] : [{ file: `test/${file}.test.ts`, title }];
  });
  return {
    ...{ id, injected, expected, tests, open },
    by: shown.filter((each) => !each.includes(' ')),
    commands: shown.filter((each) => each.includes(' -- ')),
    control: control.join('; ') || '–',
  };
}

export const rows = (parse(document('test/faults/matrix/faults.yaml')) as Written[]).map(rowOf);
