import type { Http } from './http.ts';
import type { Outcome } from './outcome.ts';

/** Wraps the service and counts the calls that it answered. */
export function counted(http: Pick<Http, 'get' | 'send'>): Pick<Http, 'get' | 'send'> & { answers(): number } {
  let answers = 0;
  const count = (outcome: Outcome) => {
    if (outcome.kind === 'answer') answers += 1;
    return outcome;
  };
  return {
    get: async (path, query, options) => count(await http.get(path, query, options)),
    send: async (path, options) => count(await http.send(path, options)),
    answers: () => answers,
  };
}
