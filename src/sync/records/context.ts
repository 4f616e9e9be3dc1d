import type { Chance, Clock, Entropy, Instant } from '../../clock.ts';
import type { Budget } from '../../domain/budget/budget.ts';
import type { ExtraLimits } from '../../domain/budget/extra-calls.ts';
import type { RetryBudget } from '../../domain/budget/retry-budget.ts';
import type { AnswerLengths } from '../../domain/catalogue/answer-lengths.ts';
import type { CategoryMatch } from '../../domain/catalogue/category.ts';
import type { Kind, Said, Subject } from '../../domain/evidence/claims.ts';
import type { AskedRecord, Reach } from '../../domain/evidence/reach.ts';
import type { Due, DueReason, RecordKey } from '../../domain/schedule/record.ts';
import type { Extent } from '../../domain/schedule/record-kinds.ts';
import type { Logger } from '../../log.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { StaleAfter } from '../../mirror/schedule/stale.ts';
import type { ServiceReads, Upstream } from '../../upstream/client.ts';
import type { Outcome } from '../../upstream/outcome.ts';
import type { TakeTurns } from './turns.ts';

/** The policy for products of one category: what is read of them, and how often. */
export interface ProductPolicy {
  readonly extent: Extent;
  readonly cadence: StaleAfter;
  /** How much harm a stale product does, where 1 is usual. */
  readonly weight: number;
}

/** The configuration as the work needs it: what is mirrored, and how often it is read. */
export interface Policy extends ProductPolicy {
  readonly categories: readonly { readonly name: string; readonly match: CategoryMatch }[];
  /** Returns the policy of a category; for null and for a category no longer configured, the general one. */
  of(category: string | null): ProductPolicy;
  readonly daysPerRequest: number;
  readonly pageSize: number;
  /** Whether the product list comes in the order of popularity. */
  readonly listOrdered: boolean;
  /** Whether a list is complete only if it has as many rows as it counts. */
  readonly listTotal: 'check' | 'ignore';
  /** Null: records are read by their cadences alone. */
  readonly adaptive: {
    readonly limits: ExtraLimits;
    /** No record is read again earlier than this, in milliseconds; null: by the number of products (pricing.ts). */
    readonly floor: number | null;
  } | null;
  /** The share of all calls that are random reads (truth/audits.ts); 0: none. */
  readonly audit: number;
  /** The configuration's word on answers that take something away from many records at once. */
  readonly held: Readonly<Record<Kind, 'hold' | 'warn' | 'off'>>;
  /** The ceiling, in calls a second. */
  readonly ceiling: number;
  /** How long the service holds a notification, and how long it tries again, at most; milliseconds. */
  readonly notifications: { readonly hold: number; readonly retries: number };
  /** Products that the configuration excludes from the list. */
  readonly excluded: ReadonlySet<number>;
  /** Products mirrored even if the list's filter leaves them out. */
  readonly included: readonly number[];
}

/** The ports of all work. */
export interface Ports {
  readonly upstream: Upstream;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly entropy: Entropy;
  readonly log: Logger;
  readonly policy: Policy;
  readonly retries: RetryBudget;
  readonly answerLengths: AnswerLengths;
  /** What has been learned of the service's limit. */
  readonly budget: () => Budget;
  /** Judges every answer that takes something away. */
  readonly evidence: ClaimJudge;
  readonly refusals: RefusalJudge;
  /** Has those who need the same page of a list take turns, so that one read answers for all. */
  readonly pageTurns: TakeTurns;
}

export type ClaimPorts = Pick<Ports, 'mirror' | 'clock' | 'chance' | 'policy' | 'log' | 'budget'>;

/** An answer, and why it was asked for. */
export interface ClaimedBy {
  readonly sent_at: Instant;
  readonly reason: DueReason;
  /** An authenticated notification has announced what it takes away. */
  readonly announced?: boolean;
  /** `false`: it claims something that another read decides about, so that nothing is stored by it. */
  readonly decides?: boolean;
  /** `false`: a part of an answer, which withdraws no claim that another part of it may make. */
  readonly withdraws?: boolean;
}

/** The verdict on an answer: it is stored, or the mirror keeps what it has. */
export interface Passed {
  readonly kind: 'store' | 'keep';
  /** The next look at what is taken away, or the second question; null: the next read at the cadence. */
  readonly next: Due | null;
}

/** Every answer that takes something away passes here before it is stored (evidence/evidence.ts). */
export interface ClaimJudge {
  /** Decides in a transaction whether an answer about a record is stored: as a whole, or not at all. */
  pass(record: RecordKey, said: readonly Said[], answer: ClaimedBy): Passed;
  /** Draws and judges the samples of what is held, and ends what is over. Run once a minute. */
  look(): void;
  /** Settles what is held because a person decides. Returns the subjects. */
  decide(kind: Kind | Subject, decision: 'approved' | 'rejected'): Subject[];
}

export type RefusedRead = Extract<Outcome, { kind: 'refused' }>;

/** Every answer that refuses a record passes here (evidence/reach.ts). */
export interface RefusalJudge {
  /** Returns how far a refusal reaches. Asks others first where it may concern more than its record. */
  judge(record: AskedRecord, refusal: RefusedRead, signal: AbortSignal): Promise<Reach>;
  /** Does the same for a caller that does not wait. */
  note(record: AskedRecord, refusal: RefusedRead, signal: AbortSignal): void;
  /** Returns the service's message if it refuses the key, else null. */
  keyRefused(): string | null;
  /** Makes one small call a minute while the key is refused. */
  tryKey(signal: AbortSignal): Promise<void>;
  /** Asks seldom whether a missing path exists by now. Run every minute. */
  askMissing(signal: AbortSignal): Promise<void>;
}

/**
 * Runs work in a transaction and resolves to its result when that is durable. With `soon` it may share the transaction
 * of work that comes a little later. If the mirror cannot be written, calls `late` and stores the work when it can.
 */
export type Commit = <Result>(work: () => Result, when: 'now' | 'soon', late?: () => void) => Promise<Result>;

/** The ports of refreshing a record: the service is called in the record's lane. */
export interface SyncPorts extends Omit<Ports, 'upstream'> {
  readonly upstream: ServiceReads;
  /** Called after each page of a walk, which may have made new records due. */
  progressed(): void;
  /** Stores an answer; `soon`: it found everything as it is in the mirror. */
  readonly commit: Commit;
}
