/*
 * Decides when an answer may take something away. One answer proves little: it may come from a cache, or from a service
 * that is broken. An answer that adds or confirms something is accepted at once.
 */

/**
 * Way in which a claim takes something away: `less` data, or another `price`. Decides how long claims are held before
 * all of a subject may be accepted.
 */
export type Kind = 'less' | 'price';

/** Properties of a subject. */
interface AboutSubject {
  readonly kind: Kind;
  /** Its claims, for people. */
  readonly text: string;
  /** Amount of a record that shows something, `#` of it, and of one that shows nothing. Prices are shown as money. */
  readonly some: string;
  readonly none: string;
  /** Resources whose freshness targets count its records; of dates only the near ones, or all others. */
  readonly resources: readonly string[];
  readonly near?: boolean;
}

const products = ['products', 'product_detail'] as const;
const nearDates = { resources: ['availability'], near: true } as const;
const farDates = { resources: ['availability'], near: false } as const;
const moved = 'moved by more than a factor of 2';

/** Subjects, which are counted and held separately: many claims about one prove nothing about another. */
const table = {
  products: { kind: 'less', text: 'products missing from the list', some: 'listed', none: 'missing', resources: ['products'] },
  'sale-status': { kind: 'less', text: 'products off sale', some: 'on sale', none: 'off sale', resources: products },
  'near-dates': { kind: 'less', text: 'near dates all sold out', some: '# dates', none: 'none', ...nearDates },
  'far-dates': { kind: 'less', text: 'far dates all sold out', some: '# dates', none: 'none', ...farDates },
  variants: { kind: 'less', text: 'variants all gone', some: '# variants', none: 'none', resources: ['variants'] },
  texts: { kind: 'less', text: 'texts gone', some: '# texts', none: 'none', resources: [...products, 'checkout_information'] },
  'from-prices': { kind: 'price', text: `product prices ${moved}`, some: '', none: 'no price', resources: products },
  'near-prices': { kind: 'price', text: `prices of near dates ${moved}`, some: '', none: 'no price', ...nearDates },
  'far-prices': { kind: 'price', text: `prices of far dates ${moved}`, some: '', none: 'no price', ...farDates },
} as const satisfies Readonly<Record<string, AboutSubject>>; // biome-ignore format: a table

export type Subject = keyof typeof table;
export const subjects: Readonly<Record<Subject, AboutSubject>> = table;
export const subjectNames = Object.keys(table) as readonly Subject[];

export function isSubject(name: string): name is Subject {
  return Object.hasOwn(subjects, name);
}

/** Content of an answer about a record, beside what the mirror shows of it. */
export interface Said {
  readonly subject: Subject;
  /**
   * Window index of the record that it is about, within the same product, edition and resource. Absent: that of the
   * requested record.
   */
  readonly part?: number;
  /**
   * `less`: how much the mirror shows; for texts, how many. `price`: the lowest price, in minor units; null if there is
   * none.
   */
  readonly shown: number | null;
  /** Same, according to the answer. */
  readonly said: number | null;
}

/** A claim made by the latest answer about a record. */
export interface Claim {
  readonly subject: Subject;
  /** Data shown before the first answer with this claim, and the content of the last such answer. */
  readonly shown: number | null;
  readonly said: number | null;
  readonly first_at: number;
  readonly last_at: number;
  /** Instant at which the mirror accepted it. Null: the mirror still shows the earlier data. */
  readonly applied_at: number | null;
}

/** A price that changes by more than this factor is read a second time. */
const mostFactor = 2;

/** Returns whether an answer takes away all of a record or one of its texts, or changes its lowest price too much. */
export function takesAway({ subject, shown, said }: Said): boolean {
  if (!isSome(shown)) return false;
  return subjects[subject].kind === 'less' ? isLess(subject, shown, said) : !isSome(said) || isFar(shown, said);
}

/** Returns whether an answer still makes a claim. */
export function stillSays({ subject, shown, said }: Claim, now: Said): boolean {
  if (subjects[subject].kind === 'less') return isLess(subject, shown, now.said);
  return isSome(said) ? isSome(now.said) && !isFar(said, now.said) : !isSome(now.said);
}

/** Returns whether an answer contains less than was shown: nothing at all, or fewer texts. */
function isLess(subject: Subject, shown: number | null, said: number | null): boolean {
  return subject === 'texts' ? (said ?? 0) < (shown ?? 0) : !isSome(said);
}

/** Returns whether an answer has the price again that was shown before the claim, so that it takes nothing away. */
export function returns({ shown, subject }: Claim, { said }: Said): boolean {
  return subjects[subject].kind === 'price' && isSome(shown) && isSome(said) && !isFar(shown, said);
}

function isSome(amount: number | null): amount is number {
  return amount !== null && amount > 0;
}

function isFar(one: number, other: number): boolean {
  return Math.max(one, other) > mostFactor * Math.min(one, other);
}

/** Number of records that could make a claim, and of those that do. */
export interface Whole {
  readonly able: number;
  /** Records whose claim is not applied, and those to which one was applied within the last day. */
  readonly claiming: number;
}

/** Share of a catalogue that may plausibly change within a day, and the number below which a share means nothing. */
const most = { share: 0.1, count: 5 };

/** Returns how many of `visible` records may go missing at once, or close unconfirmed, before that is doubted. */
export function mostMissing(visible: number): number {
  return Math.max(most.count, Math.floor(most.share * visible));
}

/** Returns how many records may make a claim before all that make it are held: never more than half, at least one. */
export function limitOf(able: number): number {
  return Math.max(1, Math.min(mostMissing(able), Math.floor(able / 2)));
}

/** Time for which an applied claim counts together with new ones. */
export const appliedCountsMs = 24 * 3_600_000;

/**
 * Decision about a subject, by a person (`believed`) or by the service's insistence (`agreed`). If agreed, two answers
 * must still make the claim.
 */
export type HoldStanding = 'free' | 'held' | 'agreed' | 'believed';

/** Decision about an answer that takes something away. */
export type Verdict =
  /** It is stored. */
  | { readonly kind: 'take'; readonly because: 'live-check' | 'not-guarded' | 'believed' | 'said-twice' }
  /** The mirror keeps what it shows. */
  | { readonly kind: 'keep'; readonly because: 'said-once' | 'too-many' | 'held' };

/** A claim to judge, with its circumstances. */
export interface JudgedClaim {
  /** Instant of the first of the consecutive answers that make it; null if this is the first. */
  readonly first_at: number | null;
  readonly sent_at: number;
  readonly standing: HoldStanding;
  /** Counts include this claim. */
  readonly whole: Whole;
  /** `off`: every answer is accepted. `warn`: many claims at once are reported, and accepted. */
  readonly guard: 'hold' | 'warn' | 'off';
  /** True: a shopper waits for the answer. */
  readonly live: boolean;
}

/** Decides whether an answer that takes something away is stored. */
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

/** Times after a `less` claim was applied at which its record is read again; after the last one at its cadence. */
const looksAgainMs = [30 * 60_000, 3 * 3_600_000] as const;

/**
 * Returns when to read again a record whose claim was applied at `applied_at`, after a read sent at `sent_at`. Null: at
 * its cadence.
 */
export function lookAgainAt(subject: Subject, applied_at: number, sent_at: number): number | null {
  if (subjects[subject].kind === 'price') return null;
  return looksAgainMs.map((after) => applied_at + after).find((at) => at > sent_at) ?? null;
}

/** Share of the learned rate that second reads may take. */
const askingShare = 0.01;

/**
 * Returns when to read a second time: a minute later, and as long after the last second read as its share of the rate
 * requires.
 */
export function askAgainAt(sent_at: number, last_asked_at: number, rate: number): number {
  return Math.max(sent_at + apartMs, last_asked_at + 1000 / (askingShare * rate));
}

/** Two answers closer together than this may come from one cache. */
const apartMs = 60_000;

/** Returns whether two answers are far enough apart to count as two. */
function isApart(first_at: number, sent_at: number): boolean {
  return sent_at - first_at >= apartMs;
}
