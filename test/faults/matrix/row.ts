/** A test of the suite: its file below test/, without `.test.ts`, and part of its full name as it is written there. */
export type TestName = `${string} | ${string}`;

/** A fault of the matrix, and all that shows what becomes of it. */
export interface Row {
  readonly id: string;
  readonly fault: string;
  readonly injected: string;
  readonly expected: string;
  /** It has runs of its own in runs.ts; the one that has to fail, if there is one. */
  readonly harness?: string | null;
  /** Its fault is injected by the runs of another row. */
  readonly by?: string;
  readonly tests?: readonly TestName[];
  /** Tests that show that the others would notice. */
  readonly controls?: readonly TestName[];
  /** An npm script that takes minutes and a program of its own: run by `--long`. */
  readonly command?: string;
  /** What of it is thought through and not run. */
  readonly open?: string;
}

/** The test's file, relative to the repository's root, and the part of its name. */
export function testOf(name: TestName): { readonly file: string; readonly title: string } {
  const [file = '', title = ''] = name.split(' | ');
  return { file: `test/${file}.test.ts`, title };
}

export const testsOf = ({ tests = [], controls = [] }: Row): readonly TestName[] => [...tests, ...controls];
