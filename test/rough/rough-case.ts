/**
 * One thing that was found wrong in a rough world, asked from outside: of the built program of any commit, by its
 * command line, its files, its addresses and, where nothing else will do, its modules.
 */
export interface RoughCase {
  /** The point of the list in the issue, like `3` or `13 SIGHUP`. */
  readonly point: string;
  /** What must hold, as a claim in the present tense. */
  readonly claim: string;
  run(subject: Subject): Promise<Finding>;
}

/** The commit that is asked. */
export interface Subject {
  /** Its checkout, installed and built: `dist/cli.js`, `src/`. */
  readonly root: string;
  /** A fresh directory, removed when the case is over. */
  readonly directory: string;
  /** Whatever is left in it is stopped when the case is over. */
  readonly stack: AsyncDisposableStack;
}

export interface Finding {
  readonly green: boolean;
  /** What was seen, in one line. */
  readonly said: string;
}
