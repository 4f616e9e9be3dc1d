import type { Clock } from '../../clock.ts';
import { type Recorded, record } from '../../domain/probe/anonymise.ts';
import type { Exchange } from '../../domain/probe/assumption.ts';
import { parseExact } from '../../domain/values/exact-json.ts';
import type { RawAnswer, RawReads } from '../../upstream/raw-reads.ts';

/** The most calls that a probe makes, including repeated ones. */
export const mostCalls = 40;

/** The path of each resource; null: the service has none. */
export type ProbePaths = Readonly<
  Record<
    'products' | 'product' | 'checkout_information' | 'availability' | 'variants' | 'experiences' | 'subscription',
    string | null
  >
>;

export interface ProbePorts {
  readonly raw: RawReads;
  readonly clock: Clock;
  /** The most calls a second, below the limiter's rate. */
  readonly calls_a_second: number;
}

/** The longest pause that a probe waits for, in milliseconds; a longer one ends it. */
const patienceMs = 120_000;
/** The number of repetitions of a call that failed in a way that a repetition may help. */
const again = 2;

/** The calls of a probe, one after another, and their results. */
export interface ProbeCalls {
  /** Makes a call, and repeats it if that may help. Null: it was not made, or not answered in time. */
  ask(
    name: string,
    resource: keyof ProbePaths | 'nowhere',
    query: Record<string, string>,
    product_id?: number | null,
  ): Promise<Exchange | null>;
  /** `exchanges`: the last answer to each question; `attempts`: all answers. */
  readonly exchanges: Exchange[];
  readonly attempts: readonly Exchange[];
  /** Returns the reason why no more calls are made; null: more may be made. */
  cutShort(): string | null;
  recorded(): Recorded[];
}

export function probeCalls(
  { raw, clock, calls_a_second }: ProbePorts,
  { paths }: { readonly paths: ProbePaths },
  signal: AbortSignal,
  progressed: (calls: number, asking: string) => void,
): ProbeCalls {
  const exchanges: Exchange[] = [];
  const attempts: Exchange[] = [];
  const recorded: { exchange: Exchange; resource: string; product_id: number | null }[] = [];
  let cut_short: string | null = null;
  let next_at = Number.NEGATIVE_INFINITY;

  async function attempt(name: string, path: string, query: Record<string, string>): Promise<Exchange | null> {
    if (cut_short !== null || attempts.length >= mostCalls) return null;
    const wait = next_at - clock.monotonic();
    if (wait > 0) await clock.sleep(wait, signal);
    next_at = clock.monotonic() + 1000 / calls_a_second;
    progressed(attempts.length, name);
    using patience = clock.deadline(patienceMs, signal);
    try {
      const made = exchangeOf(name, path, query, await raw.get(path, query, patience.signal));
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
    ask: async (name, resource, query, product_id = null) => {
      const path = resource === 'nowhere' ? paths.products?.replace(/(?=\?|$)/, '-nowhere') : paths[resource];
      if (path == null) return null;
      const full = path
        .replaceAll('{product_id}', String(product_id))
        .replaceAll('{subscription_id}', 'catalogued-probe');
      let made = await attempt(name, full, query);
      for (let times = 0; made !== null && isStray(made) && times < again; times += 1)
        made = (await attempt(name, full, query)) ?? made;
      if (made === null) return null;
      exchanges.push(made);
      recorded.push({ exchange: made, resource, product_id });
      return made;
    },
    exchanges,
    attempts,
    cutShort: () => cut_short,
    recorded: () => record(recorded, clock.now()),
  };
}

function exchangeOf(name: string, path: string, query: Record<string, string>, answer: RawAnswer): Exchange {
  const { outcome, status, headers, sent_at, took_ms } = answer;
  const made = { name, path, query, status, headers, sent_at, took_ms };
  if (outcome.kind !== 'answer') {
    const { code, message } = outcome.kind === 'throttled' ? { code: 'throttled', message: 'throttled' } : outcome;
    return { ...made, json: undefined, failure: { code, message } };
  }
  try {
    return { ...made, json: parseExact(outcome.text), failure: null };
  } catch {
    return { ...made, json: undefined, failure: { code: 'not-json', message: 'the body is not JSON' } };
  }
}

/** Returns whether repeating a call may help: the service failed, or asked for a pause. */
function isStray({ status, headers, failure }: Exchange): boolean {
  if (failure === null) return false;
  return status === null || status >= 500 || status === 429 || headers['retry-after'] !== undefined;
}
