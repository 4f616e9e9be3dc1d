import { type FailureCode, failedStatus, type Outcome } from './outcome.ts';

/** Of the last five answers, so many of a burst status are back-pressure; so many in a row are the key after all. */
const burst = { of: 5, calls: 3, key: 20 };
/** Failures that do not show that the service is there; so many in a row are as good as no connection. */
const silence = { codes: new Set<FailureCode>(['deadline', 'reset', 'closed']), calls: 5 };

/** So many 5xx among the last answers are the service's trouble, unless all are about one product: then they are its own. */
const trouble = { of: 20, calls: 10, products: 2 };
/** A 5xx that may mean "less" (503) but does not say so: half of the last ten, or a tenth of the last hundred, mean it. */
const unsaid = [
  { of: 10, calls: 5 },
  { of: 100, calls: 10 },
] as const;

/** An outcome as those before it show it, and what it teaches: nothing at all, that the service is away, or that it is there. */
export interface Judged {
  readonly teaches: 'nothing' | 'away' | 'there';
  readonly outcome: Outcome;
}

/** The outcomes of the last calls: what one of them means, the others tell. */
export interface OutcomeHistory {
  /** `product_id`: which product was asked for; null: none. */
  judge(came: Outcome, product_id: number | null): Judged;
  /** Returns how many calls in a row ended in a burst status. */
  refusedInARow(): number;
}

/** `burst_statuses` mean throttling when they come in bursts, and a record's own failure when single. */
export function outcomeHistory(burst_statuses: readonly number[]): OutcomeHistory {
  const overloaded = lastOf(100);
  /** Of the last answers the product of each 5xx; undefined: another answer. */
  const failing: (number | null | undefined)[] = [];
  const refused = lastOf(burst.of);
  let silent_in_a_row = 0;
  let refused_in_a_row = 0;
  let answered = false;

  /** A single 503 without Retry-After is the failure of what was asked for; only many of them are back-pressure. */
  function judgeUnsaid(outcome: Outcome): Outcome {
    const hit = outcome.kind === 'throttled' && outcome.status >= 500 && outcome.until === null;
    overloaded.add(hit);
    if (!hit || unsaid.some(({ of, calls }) => overloaded.hits(of) >= calls)) return outcome;
    return failedStatus(outcome.status);
  }

  /** Half of the last calls broke the service, this one too: nothing is wrong with what was asked for (reliability.md section 3). */
  function isTrouble(outcome: Outcome, product_id: number | null): boolean {
    const broken = outcome.kind === 'failed' && (outcome.status ?? 0) >= 500;
    failing.push(broken ? product_id : undefined);
    if (failing.length > trouble.of) failing.shift();
    const about = failing.filter((each) => each !== undefined);
    return broken && about.length >= trouble.calls && new Set(about).size >= trouble.products;
  }

  /** A single 403 is the record's; several among the last answers are back-pressure; nothing but 403 is the key (service-facts.md §13.7). */
  function judgeBurst(outcome: Outcome): Outcome {
    const hit = outcome.kind === 'refused' && burst_statuses.includes(outcome.status);
    refused_in_a_row = hit ? refused_in_a_row + 1 : 0;
    answered ||= !hit;
    refused.add(hit);
    if (!hit || refused.hits() < burst.calls) return outcome;
    // A key that is taken away later looks like a burst at first, but outlasts every pause.
    if (answered && refused_in_a_row < burst.key) return { kind: 'throttled', status: outcome.status, until: null };
    return { ...outcome, status: 401, message: `every call is refused with ${outcome.status}: ${outcome.message}` };
  }

  return {
    judge: (came, product_id) => {
      const outcome = judgeUnsaid(came);
      const silent = outcome.kind === 'failed' && silence.codes.has(outcome.code);
      silent_in_a_row = silent ? silent_in_a_row + 1 : 0;
      if (outcome.kind === 'unreachable' || silent_in_a_row >= silence.calls || isTrouble(outcome, product_id))
        // Where nothing goes well, no record is at fault.
        return { teaches: 'away', outcome: outcome.kind === 'failed' ? { ...outcome, kind: 'unreachable' } : outcome };
      return silent ? { teaches: 'nothing', outcome } : { teaches: 'there', outcome: judgeBurst(outcome) };
    },
    refusedInARow: () => refused_in_a_row,
  };
}

/** The last so many of a row of hits and misses. */
function lastOf(size: number): { add(hit: boolean): void; hits(among?: number): number } {
  const last: boolean[] = [];
  return {
    add: (hit) => {
      last.push(hit);
      if (last.length > size) last.shift();
    },
    hits: (among = size) => last.slice(-among).filter(Boolean).length,
  };
}
