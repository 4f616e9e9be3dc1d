import type { Away } from '../says/conditions/facts.rules.ts';
import { type Failed, type FailureCode, failedStatus, type WithoutAnswer } from './outcome.ts';

/** Of the last five answers, so many of a burst status are back-pressure; so many in a row are the key after all. */
const burst = { of: 5, calls: 3, key: 20 };
/** Failures that do not show that the service is there; so many in a row are as good as no connection. */
const silence = { codes: new Set<FailureCode>(['deadline', 'reset', 'closed']), calls: 5 };
/** Failures of our own and of an adapter: they give no information about the service. */
const ours: ReadonlySet<FailureCode> = new Set<FailureCode>(['not-sendable', 'no-signing-key', 'adapter']);

/** So many 5xx among the last answers are the service's trouble, unless all are about one product: then they are its own. */
const trouble = { of: 20, calls: 10, subjects: 2 };
/**
 * So many calls in a row without a usable answer are the service's trouble: about several products, or about a product
 * and the list. A list that fails alone has its own failure.
 */
const fruitless = { calls: 5, subjects: 3, withList: { calls: 3, subjects: 2 } };
/** After a usable answer showed that others had failed by themselves, so long nothing but silence is the service's trouble. */
const vouchedMs = 60_000;
/** For so long a subject that failed while others were answered is at fault itself; a later failure is judged again. */
const ownFailureMs = 10 * 60_000;
/** A 5xx that may mean "less" (503) but does not say so: half of the last ten, or a tenth of the last hundred, mean it. */
const unsaid = [
  { of: 10, calls: 5 },
  { of: 100, calls: 10 },
] as const;
/**
 * A 503 of a proxy means "less" only if a call was answered right after one so often among the same answers: behind a
 * proxy, a dead service refuses every call.
 */
const answeredBetween = 3;

/** Subject of a call: a product by its id, or a list by its path; null if neither. */
export type OutcomeSubject = number | string | null;

/** An outcome judged by those before it, and what it shows: nothing, or that the service is away, or that it is there. */
export interface Judged<Came> {
  readonly teaches: 'nothing' | 'there' | Away;
  readonly outcome: Came | WithoutAnswer;
}

/** Any result of a call: an answer, decoded or not, or none. */
type Came = { readonly kind: 'answer' | 'read' | 'unchanged' } | WithoutAnswer;

/**
 * Status that means throttling when it comes in bursts, and a record's own failure when single. A client of the
 * service reports it instead of 429. A path that has answered nothing else is not for this key (trust/refusals.ask.ts).
 */
const burstStatus = 403;

/** Judges outcomes by those of the calls before: whether a failure is the service's or that of what was asked for. */
export class OutcomeHistory {
  readonly #overloaded = new LastOf(100);
  readonly #refused = new LastOf(burst.of);
  /** Of the last answers the subject of each 5xx; undefined: another answer. */
  readonly #broken: (OutcomeSubject | undefined)[] = [];
  /** Subjects of the calls since the last usable answer, all of which failed. */
  #fruitless: OutcomeSubject[] = [];
  /**
   * Subjects that failed while others were answered, and were not answered since: until when their failures are their own,
   * too. Without an end, a small catalogue whose products all failed once would hide the next outage.
   */
  readonly #failing = new Map<OutcomeSubject, number>();
  #silent_in_a_row = 0;
  #refused_in_a_row = 0;
  #answered = false;
  /** Paths that were answered otherwise than with a burst status. */
  readonly #answering = new Set<string>();
  /** True if the last failure was attributed to the service although it answered. */
  #unusable = false;
  #vouched_until = Number.NEGATIVE_INFINITY;

  /** `now`: of a clock that never jumps. */
  judge<Got extends Came>(came: Got, about: OutcomeSubject, now: number, path: string | null = null): Judged<Got> {
    const outcome = this.#judgeUnsaid(came);
    if (outcome.kind === 'failed' && ours.has(outcome.code)) return { teaches: 'nothing', outcome };
    if (outcome.kind === 'failed') return this.#judgeFailure(outcome, about, now);
    this.#silent_in_a_row = 0;
    if (outcome.kind === 'unreachable') return { teaches: { how: 'unreachable', says: outcome.message }, outcome };
    // A call without a record is not decoded, so a login page in place of an answer would look the same.
    if (about === null && this.#unusable) return { teaches: 'nothing', outcome };
    this.#noteAnswer(about, now);
    return { teaches: 'there', outcome: this.#judgeBurst(outcome, path) };
  }

  /** Returns how many calls in a row ended in a burst status. */
  refusedInARow(): number {
    return this.#refused_in_a_row;
  }

  /** Returns whether the last calls failed, and another one would show whether that is the service's trouble. */
  isInDoubt(): boolean {
    return this.#fruitless.length > 0 || this.#silent_in_a_row > 0;
  }

  #judgeFailure(outcome: Failed, about: OutcomeSubject, now: number): Judged<never> {
    const silent = silence.codes.has(outcome.code);
    this.#silent_in_a_row = silent ? this.#silent_in_a_row + 1 : 0;
    if (now < this.#vouched_until) this.#failing.set(about, now + ownFailureMs);
    const own = about === null || now < (this.#failing.get(about) ?? Number.NEGATIVE_INFINITY);
    if (!own) this.#fruitless = [...this.#fruitless, about].slice(-trouble.of);
    this.#noteBroken((outcome.status ?? 0) >= 500 && !own ? about : undefined);
    const isTrouble = !own && (this.#isFruitless() || ((outcome.status ?? 0) >= 500 && this.#isBroken()));
    if (!isTrouble && this.#silent_in_a_row < silence.calls)
      return silent || this.#unusable
        ? { teaches: 'nothing', outcome }
        : { teaches: 'there', outcome: this.#judgeBurst(outcome, null) };
    this.#unusable = !silent;
    // If everything fails, no record is at fault.
    return {
      teaches: { how: silent ? 'silent' : 'unusable', says: wordsOf(outcome) },
      outcome: { ...outcome, kind: 'unreachable' },
    };
  }

  #noteAnswer(about: OutcomeSubject, now: number): void {
    if (this.#unusable) this.#vouched_until = now + vouchedMs;
    else for (const subject of this.#fruitless) this.#failing.set(subject, now + ownFailureMs);
    this.#unusable = false;
    this.#fruitless = [];
    this.#failing.delete(about);
    this.#noteBroken(undefined);
  }

  #noteBroken(about: OutcomeSubject | undefined): void {
    this.#broken.push(about);
    if (this.#broken.length > trouble.of) this.#broken.shift();
  }

  #isFruitless(): boolean {
    const { length } = this.#fruitless;
    const subjects = new Set(this.#fruitless);
    if (length >= fruitless.calls && subjects.size >= fruitless.subjects) return true;
    const { calls, subjects: few } = fruitless.withList;
    return length >= calls && subjects.size >= few && this.#fruitless.some((each) => typeof each === 'string');
  }

  /** Half of the last calls broke the service: nothing is wrong with what was asked for. */
  #isBroken(): boolean {
    const about = this.#broken.filter((each) => each !== undefined);
    return about.length >= trouble.calls && new Set(about).size >= trouble.subjects;
  }

  /**
   * A single 503 without Retry-After, or from a proxy, is the failure of what was asked for; only many of them are
   * back-pressure.
   */
  #judgeUnsaid<Got extends Came>(outcome: Got): Got | WithoutAnswer {
    if (outcome.kind === 'failed' || outcome.kind === 'unreachable') return outcome;
    if (outcome.kind !== 'throttled' || outcome.status < 500 || (outcome.until !== null && !outcome.proxied)) {
      this.#overloaded.add(false);
      return outcome;
    }
    this.#overloaded.add(true);
    const least = outcome.proxied ? answeredBetween : 0;
    const isMeant = unsaid.some(
      ({ of, calls }) => this.#overloaded.hits(of) >= calls && this.#overloaded.returns(of) >= least,
    );
    return isMeant ? outcome : failedStatus(outcome.status, outcome.until);
  }

  /** A single 403 is the record's; several among the last answers are back-pressure; nothing but 403 is the key. */
  #judgeBurst<Got extends Came>(outcome: Got, path: string | null): Got | WithoutAnswer {
    const hit = outcome.kind === 'refused' && outcome.status === burstStatus;
    if (!hit && path !== null) this.#answering.add(path);
    // A path that never answered, while others do, is not for this key.
    if (hit && path !== null && this.#answered && !this.#answering.has(path)) return outcome;
    this.#refused_in_a_row = hit ? this.#refused_in_a_row + 1 : 0;
    this.#answered ||= !hit;
    this.#refused.add(hit);
    if (!hit || this.#refused.hits() < burst.calls) return outcome;
    // A key that is taken away later looks like a burst at first, but outlasts every pause.
    if (this.#answered && this.#refused_in_a_row < burst.key)
      return { kind: 'throttled', status: outcome.status, until: null };
    return { ...outcome, status: 401, message: `every call is refused with ${outcome.status}: ${outcome.message}` };
  }
}

function wordsOf({ message, example }: Failed): string {
  return example === undefined ? message : `${message}: ${example}`;
}

/** The last so many of a row of hits and misses. */
class LastOf {
  readonly #size: number;
  readonly #last: boolean[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  add(hit: boolean): void {
    this.#last.push(hit);
    if (this.#last.length > this.#size) this.#last.shift();
  }

  hits(among = this.#size): number {
    return this.#last.slice(-among).filter(Boolean).length;
  }

  /** Returns the number of misses that came right after a hit. */
  returns(among: number): number {
    return this.#last.slice(-among).filter((hit, index, last) => !hit && last[index - 1] === true).length;
  }
}
