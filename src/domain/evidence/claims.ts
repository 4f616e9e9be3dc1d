/*
 * Decides when an answer may take something away. One answer proves little: it may come from a cache, or from a service
 * that is broken. An answer that adds or confirms is believed at once.
 */

/** How a claim takes something away, and how long it is held before all of its kind may be believed. */
export type Kind = 'less' | 'price';

/** What is counted and held apart: one mass says nothing about another. */
export const subjects = {
  products: 'less',
  'sale-status': 'less',
  'near-dates': 'less',
  'far-dates': 'less',
  variants: 'less',
  texts: 'less',
  'from-prices': 'price',
  'near-prices': 'price',
  'far-prices': 'price',
} as const satisfies Readonly<Record<string, Kind>>;

export type Subject = keyof typeof subjects;
export const subjectNames = Object.keys(subjects) as readonly Subject[];

export function isSubject(name: string): name is Subject {
  return Object.hasOwn(subjects, name);
}

/** What an answer says of a record, beside what the mirror shows of it. */
export interface Said {
  readonly subject: Subject;
  /** Of the same product, edition and resource, where it is about another record than the one that was asked; absent: that one. */
  readonly part?: number;
  /** `less`: how much the mirror shows; of texts, how many. `price`: the lowest price, in minor units; null: none. */
  readonly shown: number | null;
  /** The same by the answer. */
  readonly said: number | null;
}

/** A claim that the latest answer about a record makes. */
export interface Claim {
  readonly subject: Subject;
  /** What was shown before the first answer that claims it, and what the last one said. */
  readonly shown: number | null;
  readonly said: number | null;
  readonly first_at: number;
  readonly last_at: number;
  /** When the mirror took it over; null: it shows what it had. */
  readonly applied_at: number | null;
}

/** A price that moves by more is asked again. */
const mostFactor = 2;

/** Tells whether what an answer says of a record takes away all of it, one of its texts, or moves its lowest price too far. */
export function takesAway({ subject, shown, said }: Said): boolean {
  if (!isSome(shown)) return false;
  return subjects[subject] === 'less' ? isLess(subject, shown, said) : !isSome(said) || isFar(shown, said);
}

/** Tells whether an answer still says what was claimed. */
export function stillSays({ subject, shown, said }: Claim, now: Said): boolean {
  if (subjects[subject] === 'less') return isLess(subject, shown, now.said);
  return isSome(said) ? isSome(now.said) && !isFar(said, now.said) : !isSome(now.said);
}

/** Tells whether less is said than was shown: nothing at all, of texts fewer. */
function isLess(subject: Subject, shown: number | null, said: number | null): boolean {
  return subject === 'texts' ? (said ?? 0) < (shown ?? 0) : !isSome(said);
}

/** Tells whether an answer says again what was shown before the claim, so that it takes nothing away. */
export function returns({ shown, subject }: Claim, { said }: Said): boolean {
  return subjects[subject] === 'price' && isSome(shown) && isSome(said) && !isFar(shown, said);
}

function isSome(amount: number | null): amount is number {
  return amount !== null && amount > 0;
}

function isFar(one: number, other: number): boolean {
  return Math.max(one, other) > mostFactor * Math.min(one, other);
}

/** How many records could make a claim, and how many do. */
export interface Whole {
  readonly able: number;
  /** Those whose claim is not applied, and those to which one was applied in the last day. */
  readonly claiming: number;
}

/** The share of a catalogue that is believed to change within a day, and the count below which a share says nothing. */
const most = { share: 0.1, count: 5 };

/** Returns how many of so many may go missing at once, or close unconfirmed, before that is doubted. */
export function mostMissing(visible: number): number {
  return Math.max(most.count, Math.floor(most.share * visible));
}

/** Returns how many records may make a claim before all that make it are held: never more than half, at least one. */
export function limitOf(able: number): number {
  return Math.max(1, Math.min(mostMissing(able), Math.floor(able / 2)));
}

/** How long an applied claim counts beside new ones. */
export const appliedCountsMs = 24 * 3_600_000;

/** What a person (`believed`) or the service (`agreed`) has settled about a subject: what is agreed must still be said twice. */
export type HoldStanding = 'free' | 'held' | 'agreed' | 'believed';

/** What becomes of an answer that takes something away. */
export type Verdict =
  /** It is stored. */
  | { readonly kind: 'take'; readonly because: 'live-check' | 'not-guarded' | 'believed' | 'said-twice' }
  /** The mirror keeps what it shows. */
  | { readonly kind: 'keep'; readonly because: 'said-once' | 'too-many' | 'held' };

/** How a claim is judged, beside what it says. */
export interface JudgedClaim {
  /** When an answer first said so, in a row without any that did not; null: never before. */
  readonly first_at: number | null;
  readonly sent_at: number;
  readonly standing: HoldStanding;
  /** With this claim. */
  readonly whole: Whole;
  /** `off`: every answer is believed; `warn`: a mass is told of, and believed. */
  readonly guard: 'hold' | 'warn' | 'off';
  /** Whether a shopper waits for the answer. */
  readonly live: boolean;
}

/** Decides whether an answer is stored that takes something away. */
export function judgeClaim({ first_at, sent_at, standing, whole, guard, live }: JudgedClaim): Verdict {
  if (live) return { kind: 'take', because: 'live-check' };
  if (guard === 'off') return { kind: 'take', because: 'not-guarded' };
  if (standing === 'believed') return { kind: 'take', because: 'believed' };
  if (standing === 'held') return { kind: 'keep', because: 'held' };
  const isTwice = first_at !== null && isApart(first_at, sent_at);
  if (standing === 'agreed' && isTwice) return { kind: 'take', because: 'believed' };
  if (standing === 'free' && guard === 'hold' && whole.claiming > limitOf(whole.able))
    return { kind: 'keep', because: 'too-many' };
  if (isTwice) return { kind: 'take', because: 'said-twice' };
  return { kind: 'keep', because: 'said-once' };
}

/** When to look again at what `less` has taken away, counted from then: afterwards at its cadence. */
const looksAgainMs = [30 * 60_000, 3 * 3_600_000] as const;

/** Returns when to look again at what was taken away at `applied_at`, after a read sent at `sent_at`; null: at the cadence. */
export function lookAgainAt(subject: Subject, applied_at: number, sent_at: number): number | null {
  if (subjects[subject] === 'price') return null;
  return looksAgainMs.map((after) => applied_at + after).find((at) => at > sent_at) ?? null;
}

/** The share of the learned rate that asking twice may take. */
const askingShare = 0.01;

/** Returns when to ask a second time: a minute later, and as far from the question before as its share of the rate allows. */
export function askAgainAt(sent_at: number, last_asked_at: number, rate: number): number {
  return Math.max(sent_at + apartMs, last_asked_at + 1000 / (askingShare * rate));
}

/** Two answers nearer to each other may come from one cache. */
const apartMs = 60_000;

/** Tells whether two answers count as two. */
function isApart(first_at: number, sent_at: number): boolean {
  return sent_at - first_at >= apartMs;
}
