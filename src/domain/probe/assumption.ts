import type { ListAnswer, Question, RowAnswer, UnusableAnswer } from '../service/adapter.ts';
import { isMembers, type Members } from '../values/members.ts';

/*
 * The assumptions about the service, judged by a few calls to it. Each judgement is a pure function
 * of the exchanges; none makes a call.
 */

/** One call of a probe, and its result. */
export interface Exchange {
  /** Name of the call: `list`, `list again`, `dates` … Each occurs once. */
  readonly name: string;
  /** Asked of a path that does not exist where the name is `nowhere`. */
  readonly question: Question;
  /** Null if no head of an answer arrived. */
  readonly status: number | null;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined without a usable body: refused, broken, or not JSON. */
  readonly json: unknown;
  /** Result of reading it by the adapter; null: there is no usable body. */
  readonly read: ListAnswer | RowAnswer | UnusableAnswer | null;
  /** The code and message of a failure; null: there was an answer. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  readonly sent_at: number;
  readonly took_ms: number;
}

/** All exchanges of a probe, and the settings it used. */
export interface ProbeEvidence {
  readonly exchanges: readonly Exchange[];
  /** Every attempt, including retries. */
  readonly attempts: readonly Exchange[];
  /** Number of a list's first page. */
  readonly first_page: number;
  readonly page_size: number;
  readonly days_per_request: number;
  /** Statuses that mean throttling. */
  readonly throttle_statuses: readonly number[];
  readonly language: string;
  readonly currency: string;
  /** All configured languages, the primary one first. */
  readonly languages: readonly string[];
  /** Calls a second that the probe made at most. */
  readonly calls_a_second: number;
}

export type AssumptionVerdict = 'as believed' | 'otherwise' | 'cannot tell';

/** Keys below `service.profile` that follow from the exchanges. */
export type ProfilePart = Readonly<Record<string, unknown>>;

export interface Finding {
  readonly name: string;
  readonly believed: string;
  readonly seen: string;
  readonly verdict: AssumptionVerdict;
  /** Consequence, as text; empty if there is none. */
  readonly means: string;
  readonly profile: ProfilePart | null;
}

/** Result of a judgement. `profile` is set if a key follows from it. */
export type Judgement = Omit<Finding, 'name' | 'believed' | 'profile'> & {
  readonly profile?: ProfilePart;
  /** Set if the mirror cannot be filled from such a service. */
  readonly unusable?: true;
};

export interface Assumption {
  readonly name: string;
  readonly believed: string;
  judge(evidence: ProbeEvidence): Judgement;
}

export function asBelieved(seen: string, means = ''): Judgement {
  return { verdict: 'as believed', seen, means };
}

export function otherwise(seen: string, means: string, profile?: ProfilePart): Judgement {
  return { verdict: 'otherwise', seen, means, ...(profile === undefined ? {} : { profile }) };
}

/**
 * Returns the judgement that the service behaves differently, and that the mirror cannot be filled from it with this
 * configuration.
 */
export function unusable(seen: string, means: string): Judgement {
  return { ...otherwise(seen, means), unusable: true };
}

export function cannotTell(seen: string, means = ''): Judgement {
  return { verdict: 'cannot tell', seen, means };
}

export function exchange({ exchanges }: ProbeEvidence, name: string): Exchange | null {
  return exchanges.find((each) => each.name === name) ?? null;
}

/** Returns the rows that an answer has; none where it has none. */
export function rowsIn(evidence: ProbeEvidence, name: string): Members[] {
  return rowsOf(listIn(evidence, name)?.rows);
}

/** Returns what an answer says of the whole list. */
export function listIn(evidence: ProbeEvidence, name: string): ListAnswer | null {
  const read = exchange(evidence, name)?.read ?? null;
  return read !== null && 'rows' in read ? read : null;
}

/** Returns the one row that an answer is; null where it is none. */
export function rowIn(evidence: ProbeEvidence, name: string): RowAnswer | null {
  const read = exchange(evidence, name)?.read ?? null;
  return read !== null && 'row' in read ? read : null;
}

/** Returns the members of what was answered; null where there is no answer, or none of this shape. */
export function answerTo(evidence: ProbeEvidence, name: string): Members | null {
  return membersOf(exchange(evidence, name)?.json);
}

export function membersOf(value: unknown): Members | null {
  return isMembers(value) ? value : null;
}

/** Returns the elements of an array that are objects; empty if the value is not an array. */
export function rowsOf(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(membersOf).filter((row) => row !== null) : [];
}

/** Returns a number, in any printed form; null if the value is not one. */
export function numberOf(value: unknown): number | null {
  const number = JSON.isRawJSON(value) ? Number(value.rawJSON) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}

/** Describes the end of an exchange without an answer. */
export function ending({ status, failure }: Exchange): string {
  return status === null ? (failure?.message ?? 'no answer') : `${status} ${failure?.code ?? ''}`.trim();
}

/** Formats a share like `3 of 100 products`. */
export function share(count: number, of: number, what: string): string {
  return `${count} of ${of} ${what}`;
}

/** Returns the distinct values, the most frequent first. */
export function distinct(values: readonly unknown[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).map(([value]) => value);
}
