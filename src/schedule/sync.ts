import type { CategoryMatch } from '../catalogue/category.rules.ts';
import { answerLengths } from '../dates/window-requests.rules.ts';
import type { Chance, Clock, Entropy, Instant } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { MirrorFacts } from '../mirror/reading.ts';
import { NewsBudget } from '../push/news.rules.ts';
import type { Budget } from '../service/budget.rules.ts';
import type { ServiceReads, Upstream } from '../service/client.ts';
import type { ExtraLimits } from '../service/extra-calls.rules.ts';
import type { Outcome } from '../service/outcome.ts';
import { retryBudget } from '../service/retry-budget.rules.ts';
import type { Examples } from '../service/shapes.rules.ts';
import type { Kind, Said, Subject } from '../trust/claims.rules.ts';
import type { AskedRecord, Reach } from '../trust/refusal-reach.rules.ts';
import type { LaneEntry } from './lanes.rules.ts';
import type { Due, DueReason, Extent, RecordKey } from './record.rules.ts';
import { Siblings } from './siblings.rules.ts';
import type { StaleAfter } from './targets.store.ts';

/** The policy for products of one category: the records that are read, and their cadences. */
export interface ProductPolicy {
  readonly extent: Extent;
  readonly cadence: StaleAfter;
  /** Harm that a stale product does, where 1 is usual. */
  readonly weight: number;
}

/** The configuration in the form that the sync work uses: the mirrored products, and their cadences. */
export interface Policy extends ProductPolicy {
  readonly categories: readonly { readonly name: string; readonly match: CategoryMatch }[];
  /** Returns the policy of a category. Null and categories no longer configured have the general one. */
  of(category: string | null): ProductPolicy;
  readonly daysPerRequest: number;
  readonly pageSize: number;
  /** True: the product list comes in the order of popularity. */
  readonly listOrdered: boolean;
  /** `check`: a list is complete only if it has as many rows as its total says. */
  readonly listTotal: 'check' | 'ignore';
  /** Extra reads of records that are likely to have changed. Null: records are read by their cadences alone. */
  readonly adaptive: ExtraLimits | null;
  /** The share of all calls that are random reads (cycle/audits.ts); 0: no random reads. */
  readonly audit: number;
  /** The configured reaction to answers that remove data from many records at once. */
  readonly held: Readonly<Record<Kind, 'hold' | 'warn' | 'off'>>;
  /** The most calls a second. */
  readonly ceiling: number;
  /** The longest time for which the service holds a notification, and for which it retries it, in milliseconds. */
  readonly notifications: { readonly hold: number; readonly retries: number };
  /** Products that the configuration excludes from the list. */
  readonly excluded: ReadonlySet<number>;
  /** Products mirrored even if the list's filter leaves them out. */
  readonly included: readonly number[];
}

/**
 * Returns the policy with the longest horizon of these categories (default: of all, and of none). Categories differ in
 * no other part of their extent, so it has every kind of record that their products have.
 */
export function furthestOf(
  policy: Policy,
  categories: readonly (string | null)[] = [null, ...policy.categories.map(({ name }) => name)],
): ProductPolicy {
  const horizonOf = ({ cadence }: ProductPolicy) => cadence.availability.horizon;
  return categories
    .map((category) => policy.of(category))
    .reduce((furthest, each) => (horizonOf(each) > horizonOf(furthest) ? each : furthest));
}

/** Parts from outside that sync work needs: the service, the mirror, time, chance and the policy. */
export type SyncOptions = Pick<
  Sync,
  'mirror' | 'upstream' | 'clock' | 'chance' | 'entropy' | 'log' | 'policy' | 'budget'
>;

/** Everything that all sync work shares. It is handed on whole. */
export class Sync {
  readonly mirror: Mirror;
  /** The service, which is called in any lane. */
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly entropy: Entropy;
  readonly log: Logger;
  readonly policy: Policy;
  /** Returns the learned limit of the service. */
  readonly budget: () => Budget;
  readonly retries = retryBudget();
  readonly answerLengths = answerLengths();
  /** Runs reads of the same page of a list one after another, so that one answer can serve all. */
  readonly pageTurns = turns();
  /** Holds the suspicions that products of a venue or supplier have changed together. */
  readonly siblings: Siblings;
  /** Grants the reads that repeat a look for an announcement. */
  readonly news: NewsBudget;
  /** Judges every answer that removes data. */
  readonly evidence: ClaimJudge;
  readonly refusals: RefusalJudge;

  /** `judges`: create the judges of answers, which use the rest themselves. */
  constructor(
    { mirror, upstream, clock, chance, entropy, log, policy, budget }: SyncOptions,
    judges: { evidence(sync: Sync): ClaimJudge; refusals(sync: Sync): RefusalJudge },
  ) {
    this.mirror = mirror;
    this.upstream = upstream;
    this.clock = clock;
    this.chance = chance;
    this.entropy = entropy;
    this.log = log;
    this.policy = policy;
    this.budget = budget;
    this.siblings = new Siblings(clock.now());
    this.news = new NewsBudget(() => budget().rate);
    this.evidence = judges.evidence(this);
    this.refusals = judges.refusals(this);
  }
}

/** The part of the context that a command has without a daemon: a mirror opened for reading, the time and the policy. */
export interface SyncFacts {
  readonly mirror: MirrorFacts;
  readonly clock: Clock;
  readonly policy: Policy;
}

/** The instant of an answer, and the reason for its read. */
export interface ClaimedBy {
  readonly sent_at: Instant;
  readonly reason: DueReason;
  /** `false`: another read decides about the claims, so the answer is not stored because of them. */
  readonly decides?: boolean;
  /** `false`: a part of an answer. It withdraws no claim, because another part may still make it. */
  readonly withdraws?: boolean;
}

/** The verdict on an answer: it is stored, or the mirror keeps its copy. */
export interface ClaimVerdict {
  readonly kind: 'store' | 'keep';
  /** The next read about the removal, or the confirming read; null: the next read by the cadence. */
  readonly next: Due | null;
}

/** Judges every answer that removes data before it is stored (trust/evidence.ts). */
export interface ClaimJudge {
  /** Decides in a transaction whether an answer about a record is stored: completely, or not at all. */
  judge(record: RecordKey, said: readonly Said[], answer: ClaimedBy): ClaimVerdict;
  /**
   * Decides in a transaction about an answer with members that cannot be read. Returns why it counts as a failed read, of
   * which the mirror keeps what it showed; null: it is stored.
   */
  judgeUnread(record: RecordKey, unread: Examples | undefined, by: UnreadBy): UnreadFailure | null;
  /** Returns the same, and stores nothing: for an answer that is used while the mirror cannot be written. */
  foreseeUnread(record: RecordKey, unread: Examples | undefined, by: UnreadBy): UnreadFailure | null;
  /** Draws and judges the samples of the holds, and ends holds that are over. Run once a minute. */
  look(): void;
  /** Records a person's decision about holds. Returns the subjects. */
  decide(kind: Kind | Subject, decision: 'approved' | 'rejected'): Subject[];
}

/** An answer with members that cannot be read. `isRead`: an earlier answer about the record was stored. */
export interface UnreadBy {
  readonly sent_at: Instant;
  readonly isRead: boolean;
}

/** A failed read, because too many records have begun to have a member that cannot be read. */
export interface UnreadFailure {
  readonly kind: 'failed';
  readonly code: 'members-unreadable';
  readonly message: string;
  /** Milliseconds after which the record is read again. */
  readonly again_ms: number;
}

export type RefusedRead = Extract<Outcome, { kind: 'refused' }>;

/** Judges every answer that refuses a record (trust/refusals.ask.ts). */
export interface RefusalJudge {
  /** Returns how far a refusal reaches. If it may concern more than its record, requests other records first. */
  judge(record: AskedRecord, refusal: RefusedRead, signal: AbortSignal): Promise<Reach>;
  /** Returns the service's message if it refuses the key, else null. */
  keyRefused(): string | null;
  /** Returns the instant of the first refusal of the key; null if it is accepted. */
  keyRefusedSince(): Instant | null;
  /** Makes one small call a minute while the key is refused. */
  tryKey(signal: AbortSignal): Promise<void>;
  /** Requests missing paths at long intervals, in case they exist by now. Run every minute. */
  askMissing(signal: AbortSignal): Promise<void>;
}

/**
 * Runs work in a transaction and resolves to its result once that is durable. `same`: the answer is the one in the
 * mirror, so it may wait for the transaction of later work. That is how a check does it; a sync cycle groups changes too.
 * If the mirror cannot be written, calls `late` and stores the work when it can.
 */
export type Commit = <Result>(work: () => Result, answer: 'changed' | 'same', late?: () => void) => Promise<Result>;

/** The lane of a read: the context, the service as it is called in this lane, and how an answer is stored. */
export class ReadLane {
  readonly sync: Sync;
  readonly upstream: ServiceReads;
  readonly commit: Commit;
  /** Called after each page of a walk, which may have made new records due. */
  readonly progressed: () => void;

  constructor(sync: Sync, lane: LaneEntry, commit: Commit, progressed: () => void = () => undefined) {
    this.sync = sync;
    this.upstream = sync.upstream.in(lane);
    this.commit = commit;
    this.progressed = progressed;
  }
}

/** Runs work under a name after all earlier work under the same name has ended. */
type TakeTurns = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;

function turns(): TakeTurns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work);
    // The next work waits for the end of this one, whether it succeeds or fails.
    const over = mine.catch(() => undefined);
    last.set(name, over);
    try {
      return await mine;
    } finally {
      if (last.get(name) === over) last.delete(name);
    }
  };
}
