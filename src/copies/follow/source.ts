import type { BegunAnew, RowPage, RowQuestion } from '../../feed/pages.store.ts';

/** A mirror whose rows are copied: behind a daemon's interface, or in PostgreSQL. Its methods throw `SourceAway`. */
export interface RowSource {
  /** Returns the changes after a number, perhaps under another origin. */
  after(question: RowQuestion, signal: AbortSignal): Promise<RowPage | BegunAnew>;
  /** Fetches a copy of the mirror into a new file; returns the instant of which it is. */
  copy(path: string, signal: AbortSignal): Promise<number>;
}

/** The source cannot be reached, is busy, or broke off: the copy stays as it is, and the source is asked again. */
export class SourceAway extends Error {
  override readonly name = 'SourceAway';
}
