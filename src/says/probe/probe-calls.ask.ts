import type { Clock } from '../../kernel/clock.ts';
import { parseExact } from '../../kernel/values/exact-json.ts';
import type { AdapterProfile, Question } from '../../service/adapter.rules.ts';
import type { RawAnswer, RawReads } from '../../service/raw-reads.ts';
import { type Recorded, record } from './anonymise.rules.ts';
import type { Exchange } from './assumption.rules.ts';

/** The most calls that a probe makes, including repeated ones. */
export const mostCalls = 40;

/** The way of a probe to the service. */
export interface ProbedService {
  readonly raw: RawReads;
  readonly clock: Clock;
}

/** The longest pause that a probe waits for, in milliseconds; a longer one ends it. */
const patienceMs = 120_000;
/** The number of repetitions of a call that failed in a way that a repetition may help. */
const again = 2;

/** The calls of a probe, one after another, and their results. */
export interface ProbeCalls {
  /**
   * Null: it was not made, or not answered in time. One that fails without a reason is repeated. `nowhere` is asked for at
   * a path that does not exist.
   */
  ask(name: string, question: Question): Promise<Exchange | null>;
  /** The last answer to each question, and all of them. */
  readonly exchanges: Exchange[];
  readonly attempts: readonly Exchange[];
  /** Returns the reason why no more calls are made; null: more may be made. */
  cutShort(): string | null;
  recorded(): Recorded[];
}

export function probeCalls(
  { raw, clock }: ProbedService,
  { paths, calls_a_second }: { readonly paths: AdapterProfile['paths']; readonly calls_a_second: number },
  signal: AbortSignal,
  progressed: (calls: number, asking: string) => void,
): ProbeCalls {
  const exchanges: Exchange[] = [];
  const attempts: Exchange[] = [];
  let cut_short: string | null = null;
  let next_at = Number.NEGATIVE_INFINITY;

  const recorded: Exchange[] = [];

  async function attempt(name: string, question: Question): Promise<Exchange | null> {
    if (cut_short !== null || attempts.length >= mostCalls) return null;
    const wait = next_at - clock.monotonic();
    if (wait > 0) await clock.sleep(wait, signal);
    next_at = clock.monotonic() + 1000 / calls_a_second;
    progressed(attempts.length, name);
    using patience = clock.deadline(patienceMs, signal);
    try {
      const elsewhere = name === 'nowhere' ? 'elsewhere' : undefined;
      const made = exchangeOf(name, question, await raw.ask(question, patience.signal, elsewhere));
      attempts.push(made);
      return made;
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.signal.aborted) throw error;
      cut_short = `the service asks for a pause of more than ${patienceMs / 60_000} minutes`;
      return null;
    }
  }

  return {
    ask: async (name, question) => {
      if (paths[question.kind as keyof typeof paths] === null) return null;
      let made = await attempt(name, question);
      for (let times = 0; made !== null && isStray(made) && times < again; times += 1)
        made = (await attempt(name, question)) ?? made;
      if (made === null) return null;
      exchanges.push(made);
      recorded.push(made);
      return made;
    },
    exchanges,
    attempts,
    cutShort: () => cut_short,
    recorded: () => record(recorded, clock.now()),
  };
}

function exchangeOf(name: string, question: Question, answer: RawAnswer): Exchange {
  const { outcome, read, status, headers, sent_at, took_ms } = answer;
  const made = { name, question, read, status, headers, sent_at, took_ms };
  if (outcome.kind !== 'answer') {
    const { code, message } = outcome.kind === 'throttled' ? { code: 'throttled', message: 'throttled' } : outcome;
    return { ...made, json: undefined, failure: { code, message } };
  }
  try {
    return { ...made, json: parseExact(outcome.text), failure: null };
  } catch {
    return { ...made, read: null, json: undefined, failure: { code: 'not-json', message: 'the body is not JSON' } };
  }
}

/** Returns whether repeating a call may help: the service failed, or asked for a pause. */
function isStray({ status, headers, failure }: Exchange): boolean {
  if (failure === null) return false;
  return status === null || status >= 500 || status === 429 || headers['retry-after'] !== undefined;
}
