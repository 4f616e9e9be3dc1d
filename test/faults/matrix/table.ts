import { parse } from 'yaml';
import { document } from '../../documents.ts';

/** A test of the suite: its file, relative to the repository's root, and part of its full name as it is written there. */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** A fault as test/faults/matrix/faults.yaml has it. */
interface Written {
  readonly id: string;
  readonly fault: string;
  readonly injected: string;
  readonly expected: string;
  readonly shown: readonly string[];
  readonly control?: readonly string[];
  readonly open?: string;
}

/** A fault of the table, and all that shows its outcome. */
export interface Row extends Required<Omit<Written, 'control'>> {
  /** What tells of the control beside its tests. */
  readonly control: string;
  /** Tests that show it, and those that show that these would notice. */
  readonly tests: readonly NamedTest[];
  /** Rows whose runs of `npm run faults` show it. */
  readonly by: readonly string[];
  /** Other npm scripts, which take minutes and a program of their own: run by `--long`. */
  readonly commands: readonly string[];
}

const own = /^faults -- --only (\w+)$/;

function rowOf({ shown, control = [], open = '', ...row }: Written): Row {
  const tests = [...shown, ...control].flatMap((each) => {
    const [file, title] = each.split(/(?<=^\S+) > /);
    return title === undefined ? [] : [{ file: `test/${file}.test.ts`, title }];
  });
  const scripts = shown.filter((each) => !/^\S+ > /.test(each));
  return {
    ...{ ...row, shown, open, tests },
    control: control.join('; ') || '–',
    by: scripts.flatMap((script) => own.exec(script)?.[1] ?? []),
    commands: scripts.filter((script) => !own.test(script)),
  };
}

export const rows = (parse(document('test/faults/matrix/faults.yaml')) as Written[]).map(rowOf);
