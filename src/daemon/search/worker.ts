import { parentPort, workerData } from 'node:worker_threads';
import { CataloguedError, type FindQuestion, type Found, openReader } from '../../storefront/reader.ts';

/** The answer to a question: the result, or an error. */
export type SearchAnswer =
  | { readonly found: Found }
  | { readonly refused: { readonly code: string; readonly message: string; readonly hint: string | undefined } }
  | { readonly error: Error };

/* The thread of `searchThread`: it has its own reader, and answers each question in order. */
const reader = openReader(String(workerData));
parentPort?.on('message', (question: FindQuestion) => parentPort?.postMessage(answer(question)));

function answer(question: FindQuestion): SearchAnswer {
  try {
    return { found: reader.find(question) };
  } catch (error) {
    if (!(error instanceof CataloguedError)) return { error: error as Error };
    const { code, message, hint } = error;
    return { refused: { code, message, hint } };
  }
}
