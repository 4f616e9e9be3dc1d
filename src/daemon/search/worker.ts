import { parentPort, workerData } from 'node:worker_threads';
import { sqliteLibrary } from '../../sqlite/read-only.ts';
import { CataloguedError, type Found, openReader, type SearchQuestion } from '../../storefront/reader.ts';

/** Answer to a question: the result, a refusal or an error. */
export type SearchAnswer =
  | { readonly found: Found }
  | { readonly refused: { readonly code: string; readonly message: string; readonly hint: string | undefined } }
  | { readonly error: Error };

/*
 * The thread of `searchThread`: a reader of its own, and an answer for each question, in order.
 */
const reader = openReader(String(workerData), { engine: sqliteLibrary });
parentPort?.on('message', (question: SearchQuestion) => parentPort?.postMessage(answer(question)));

function answer(question: SearchQuestion): SearchAnswer {
  try {
    return { found: reader.search(question) };
  } catch (error) {
    if (!(error instanceof CataloguedError)) return { error: error as Error };
    const { code, message, hint } = error;
    return { refused: { code, message, hint } };
  }
}
