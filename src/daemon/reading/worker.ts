import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../kernel/clock.ts';
import { sqliteLibrary } from '../../kernel/sqlite/read-only.ts';
import { CataloguedError, type Found, openReader, type SearchQuestion } from '../../storefront/reader.ts';
import { type ReaderCall, type Representation, represent } from './representation.ts';
import { ViewsClock } from './views-clock.ts';

/** Question to the thread: a search for the daemon itself, or a call to be answered over HTTP. */
export type ThreadQuestion = { readonly search: SearchQuestion } | { readonly call: ReaderCall };

/** Answer to a question: the result, a refusal or an error. */
export type ThreadAnswer =
  | { readonly result: Found | Representation }
  | { readonly refused: Pick<CataloguedError, 'code' | 'message' | 'hint' | 'exitCode'> }
  | { readonly error: Error };

/*
 * The thread of `ReaderThread`: a reader of its own, and an answer for each question, in order.
 */
const clock = new ViewsClock(systemClock.now);
const reader = openReader(String(workerData), { engine: clock.engine(sqliteLibrary) });
parentPort?.on('message', (question: ThreadQuestion) => parentPort?.postMessage(answer(question)));

function answer(question: ThreadQuestion): ThreadAnswer {
  try {
    return { result: 'call' in question ? represent(reader, question.call, clock) : reader.search(question.search) };
  } catch (error) {
    if (!(error instanceof CataloguedError)) return { error: error as Error };
    const { code, message, hint, exitCode } = error;
    return { refused: { code, message, hint, exitCode } };
  }
}
