import { leastAble, type WaveRule } from './wave.rules.ts';

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
  /**
   * The subject is judged over the whole catalogue alone: a single answer is stored at once, and only a wave of them is a
   * claim.
   */
  readonly wave?: AboutWave;
  /** Least milliseconds between two answers that count as two; absent: a minute. */
  readonly apart_ms?: number;
  /** Only a person may believe many of its claims, however long the service insists. */
  readonly byPerson?: true;
}

/** A loss that counts: at least so many, and more than this share of what was shown. */
interface Lost {
  readonly lost: number;
  readonly least: number;
}

/** Rule by which a wave of a subject is found. */
type AboutWave = WaveRule & {
  /** Changed values that count: those with less of what was shown, other prices, or other values. */
  readonly by: Lost | 'ratio' | 'value';
  /** Smaller losses that count while the subject is held, since the service is known to leave something out. */
  readonly whileHeld?: Lost;
  /** Share of the changes among all answers from which any values are a wave; absent: only equal values are. */
  readonly any?: number;
  /** A hold is over once fewer of the answers than this share make the claim. */
  readonly until?: number;
  /** The wave is only reported: its values are shown. */
  readonly shown?: true;
};

const products = ['products', 'product_detail'] as const;
const nearDates = { resources: ['availability'], near: true } as const;
const farDates = { resources: ['availability'], near: false } as const;
const moved = 'moved by more than a factor of 2';
const alike = 'moved by one ratio';

/*
 * Simulated with 60 to 7,500 records. With these shares a cut of all answers to three dates, or no weekends, shows in about
 * the limit of them, because hardly an answer is stored beside those that count; where only losses of a quarter count, no
 * weekends show in 14 %. In a catalogue of 1,000 a season that halves the dates of a third of the products is not held.
 */
const datesLost = { of: 'amount', share: 0.76, by: { lost: 0.15, least: 2 }, whileHeld: { lost: 0.05, least: 1 } } as const; // biome-ignore format: a rule
const mostLost = { of: 'amount', share: 0.7, by: { lost: 0.5, least: 2 } } as const;
const oneRatio = { of: 'answers', share: 0.8, by: 'ratio', until: 0.7 } as const;
const oneValue = { of: 'changes', share: 0.6, by: 'value' } as const;
const shownValue = { ...oneValue, any: 0.8, shown: true } as const;

/** Subjects, which are counted and held separately: many claims about one prove nothing about another. */
const table = {
  products: { kind: 'less', text: 'products missing from the list', some: 'listed', none: 'missing', resources: ['products'] },
  'sale-status': { kind: 'less', text: 'products off sale', some: 'on sale', none: 'off sale', resources: products },
  'near-dates': { kind: 'less', text: 'near dates all sold out', some: '# dates', none: 'none', ...nearDates },
  'far-dates': { kind: 'less', text: 'far dates all sold out', some: '# dates', none: 'none', ...farDates },
  variants: { kind: 'less', text: 'variants all gone', some: '# variants', none: 'none', resources: ['variants'] },
  texts: { kind: 'less', text: 'texts gone', some: '# texts', none: 'none', resources: [...products, 'checkout_information'] },
  'fewer-near-dates': { kind: 'less', text: 'near dates partly gone', some: '# dates', none: 'none', ...nearDates, wave: datesLost },
  'fewer-far-dates': { kind: 'less', text: 'far dates partly gone', some: '# dates', none: 'none', ...farDates, wave: datesLost },
  'fewer-times': { kind: 'less', text: 'most times of dates gone', some: '# times', none: 'none', resources: ['availability'], wave: mostLost },
  'fewer-variants': { kind: 'less', text: 'most variants gone', some: '# variants', none: 'none', resources: ['variants'], wave: mostLost },
  'shorter-texts': { kind: 'less', text: 'texts cut', some: '# characters', none: 'none', resources: [...products, 'checkout_information'], wave: mostLost },
  'alike-zones': { kind: 'less', text: 'time zones changed to one', some: '', none: 'none', resources: products, wave: oneValue },
  'alike-variant-types': { kind: 'less', text: 'variant types changed to one', some: '', none: 'none', resources: ['variants'], wave: oneValue },
  'alike-must-know': { kind: 'less', text: 'must-know texts changed to one', some: '', none: 'none', resources: ['checkout_information'], wave: oneValue },
  'alike-titles': { kind: 'less', text: 'titles changed together', some: '', none: 'none', resources: products, wave: shownValue },
  'alike-texts': { kind: 'less', text: 'texts changed together', some: '', none: 'none', resources: products, wave: shownValue },
  'alike-images': { kind: 'less', text: 'images changed together', some: '', none: 'none', resources: products, wave: shownValue },
  'other-ids': { kind: 'less', text: 'answers with ids of another product', some: 'its own', none: 'ids of another product', resources: ['availability', 'variants'], apart_ms: 3_600_000, byPerson: true },
  'from-prices': { kind: 'price', text: `product prices ${moved}`, some: '', none: 'no price', resources: products },
  'near-prices': { kind: 'price', text: `prices of near dates ${moved}`, some: '', none: 'no price', ...nearDates },
  'far-prices': { kind: 'price', text: `prices of far dates ${moved}`, some: '', none: 'no price', ...farDates },
  'alike-from-prices': { kind: 'price', text: `product prices ${alike}`, some: '', none: 'no price', resources: products, wave: oneRatio },
  'alike-near-prices': { kind: 'price', text: `prices of near dates ${alike}`, some: '', none: 'no price', ...nearDates, wave: oneRatio },
  'alike-far-prices': { kind: 'price', text: `prices of far dates ${alike}`, some: '', none: 'no price', ...farDates, wave: oneRatio },
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
   * none, or if the subject is about a value.
   */
  readonly shown: number | null;
  /** Same, according to the answer. */
  readonly said: number | null;
  /** The value that the mirror shows, and the one in the answer, of subjects that are about one. */
  readonly shown_as?: string | null;
  readonly said_as?: string | null;
}

/** Data shown before the first answer with a claim, and the content of the last such answer: as in `Said`. */
export interface ClaimedValues {
  readonly shown: number | null;
  readonly said: number | null;
  readonly shown_as: string | null;
  readonly said_as: string | null;
}

/** A claim made by the latest answer about a record. */
export interface Claim extends ClaimedValues {
  readonly subject: Subject;
  readonly first_at: number;
  readonly last_at: number;
  /** Instant at which the mirror accepted it. Null: the mirror still shows the earlier data. */
  readonly applied_at: number | null;
}

/** A price that changes by more than this factor is read a second time. */
const mostFactor = 2;

/**
 * Returns whether an answer takes away all of a record, a part that counts, or one of its texts, or changes its lowest price
 * or a value too much. `isHeld`: such answers are held now.
 */
export function takesAway(said: Said, isHeld = false): boolean {
  const { subject, shown } = said;
  const { kind, wave } = about(subject);
  if (wave?.by === 'value') return (said.shown_as ?? null) !== null && said.said_as !== said.shown_as;
  if (!isSome(shown)) return false;
  if (wave?.by === 'ratio')
    return isSome(said.said) && !isFar(shown, said.said) && movesBy(shown, said.said) >= tellFrom;
  if (kind === 'less') return isLess(subject, shown, said.said, isHeld);
  return !isSome(said.said) || isFar(shown, said.said);
}

/** Returns whether an answer still makes a claim. */
export function stillClaims({ subject, shown, said, said_as }: Claim, now: Said, isHeld = false): boolean {
  const { kind, wave } = about(subject);
  if (wave?.by === 'value') return now.said_as === said_as;
  if (wave?.by === 'ratio') return isSome(said) && isSome(now.said) && movesBy(said, now.said) < sameWithin;
  if (kind === 'less') return isLess(subject, shown, now.said, isHeld);
  return isSome(said) ? isSome(now.said) && !isFar(said, now.said) : !isSome(now.said);
}

/** Returns whether an answer contains less than was shown: nothing at all, fewer texts, or too few of a part. */
function isLess(subject: Subject, shown: number | null, said: number | null, isHeld = false): boolean {
  const { by: usual, whileHeld } = about(subject).wave ?? {};
  const by = isHeld ? (whileHeld ?? usual) : usual;
  if (typeof by === 'object') {
    const lost = (shown ?? 0) - (said ?? 0);
    // Where nothing is left, another subject is about it.
    return isSome(said) && lost >= by.least && lost > by.lost * (shown ?? 0);
  }
  return subject === 'texts' ? (said ?? 0) < (shown ?? 0) : !isSome(said);
}

/** Returns whether an answer has the price or value again that was shown before the claim, so that it takes nothing away. */
export function returns({ shown, subject, shown_as }: Claim, { said, said_as }: Said): boolean {
  const { kind, wave } = about(subject);
  if (wave?.by === 'value') return shown_as === said_as;
  if (kind !== 'price' || !isSome(shown) || !isSome(said)) return false;
  return wave?.by === 'ratio' ? movesBy(shown, said) < sameWithin : !isFar(shown, said);
}

/**
 * Returns what an answer adds, if taking that away again would be a claim; else null. It is kept for a day, because a
 * service that was wrong takes back what it has added.
 */
export function gainOf({ shown, said, ...of }: Said): Said | null {
  // Of a record that was not read before nothing is known.
  if (shown === null && about(of.subject).kind === 'less') return null;
  const back = { ...of, shown: said, said: shown };
  const by = about(of.subject).wave?.by;
  return by !== 'ratio' && by !== 'value' && takesAway(back) ? { ...of, shown, said } : null;
}

/** Returns whether a stored claim is what an answer has added: nothing was taken away. */
export function isGain(claim: Claim): boolean {
  return claim.applied_at !== null && !takesAway(claim);
}

/** Returns whether an answer has what was shown before the record gained something, and no less. */
export function goesBack({ subject, shown }: Claim, { said }: Said): boolean {
  if (!isSome(shown)) return !isSome(said);
  return subjects[subject].kind === 'price' ? isSome(said) && !isFar(shown, said) : !isLess(subject, shown, said);
}

export function about(subject: Subject): AboutSubject {
  return subjects[subject];
}

function isSome(amount: number | null): amount is number {
  return amount !== null && amount > 0;
}

function isFar(one: number, other: number): boolean {
  return Math.max(one, other) > mostFactor * Math.min(one, other);
}

/** Moves of prices by one ratio: reported from the first, held from the second, and equal within the third. */
const [tellFrom, holdFrom, sameWithin] = [0.06, 0.1, 0.015];

/** Returns by which share a price has moved. */
function movesBy(before: number, after: number): number {
  return Math.abs(after / before - 1);
}

/** Returns whether a wave of a change is held. Otherwise it is only reported. */
export function isHarmful({ subject, shown, said }: Said): boolean {
  const { wave } = about(subject);
  if (wave?.by === 'ratio') return movesBy(shown ?? 1, said ?? 1) >= holdFrom;
  return wave?.shown !== true;
}

/** A mark of answers that change in the same way, and when answers with it are a wave. */
export interface Mark extends WaveRule {
  readonly name: string;
}

/**
 * Returns the marks of an answer that takes something away. Ratios have two that overlap: equal ones, but for rounding, have
 * one in common.
 */
export function marksOf(said: Said): Mark[] {
  const { wave } = about(said.subject);
  if (wave === undefined || !takesAway(said)) return [];
  const { of, share, any } = wave;
  if (wave.by === 'ratio') {
    const step = Math.log((said.said ?? 1) / (said.shown ?? 1)) / (2 * sameWithin);
    return [`${Math.floor(step)}`, `${Math.floor(step + 0.5)}+`].map((name) => ({ name, of, share }));
  }
  if (wave.by !== 'value') return [{ name: '', of, share }];
  const marks: Mark[] = [{ name: `=${said.said_as}`, of, share }];
  return any === undefined ? marks : [...marks, { name: '', of: 'answers', share: any }];
}

/**
 * Returns how the answers of a wave are alike, for people and for the next answer: the ratio of its prices, its value, or
 * nothing. `mark`: the one that the wave was found by.
 */
export function likenessOf({ subject, shown, said, said_as }: Said, mark: string): string | null {
  const { wave } = about(subject);
  if (wave?.by === 'ratio') return ((said ?? 1) / (shown ?? 1)).toFixed(3);
  return wave?.by === 'value' && mark !== '' ? (said_as ?? null) : null;
}

/** Returns whether an answer that takes something away belongs to a wave that was found before. */
export function isAlike({ subject, shown, said, said_as }: Said, likeness: string | null): boolean {
  if (likeness === null) return true;
  if (about(subject).wave?.by !== 'ratio') return said_as === likeness;
  return movesBy((shown ?? 1) * Number(likeness), said ?? 1) < 2 * sameWithin;
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

/** Returns how many records may change alike before it is a wave: few records are never one. */
export function mostAlike(able: number): number {
  return able < leastAble ? Number.POSITIVE_INFINITY : limitOf(able);
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
  | { readonly kind: 'take'; readonly because: 'live-check' | 'not-guarded' | 'believed' | 'said-twice' | 'reported' }
  /** The mirror keeps what it shows. */
  | { readonly kind: 'keep'; readonly because: 'said-once' | 'too-many' | 'held' };

/** A claim to judge, with its circumstances. */
export interface JudgedClaim {
  readonly subject: Subject;
  /** Instant of the first of the consecutive answers that make it; null if this is the first. */
  readonly first_at: number | null;
  readonly sent_at: number;
  readonly standing: HoldStanding;
  /** Counts include this claim. */
  readonly whole: Whole;
  /** True: it belongs to a wave, so a second answer is not needed to doubt it. */
  readonly isWave?: boolean;
  /** `off`: every answer is accepted. `warn`: many claims at once are reported, and accepted. */
  readonly guard: 'hold' | 'warn' | 'off';
  /** True: a shopper waits for the answer. */
  readonly live: boolean;
}

/** Decides whether an answer that takes something away is stored. */
export function judgeClaim({ subject, first_at, sent_at, standing, whole, isWave, guard, live }: JudgedClaim): Verdict {
  if (live) return { kind: 'take', because: 'live-check' };
  if (guard === 'off') return { kind: 'take', because: 'not-guarded' };
  if (standing === 'believed') return { kind: 'take', because: 'believed' };
  if (standing === 'held') return { kind: 'keep', because: 'held' };
  const isTwice = first_at !== null && isApart(subject, first_at, sent_at);
  if (standing === 'agreed' && isTwice) return { kind: 'take', because: 'believed' };
  if (isWave && guard === 'warn') return { kind: 'take', because: 'reported' };
  if (isWave && standing === 'free') return { kind: 'keep', because: 'too-many' };
  if (standing === 'free' && guard === 'hold' && whole.claiming > limitOf(whole.able))
    return { kind: 'keep', because: 'too-many' };
  if (isTwice) return { kind: 'take', because: 'said-twice' };
  return { kind: 'keep', because: 'said-once' };
}

/** Times after a `less` claim, or one of a wave, was applied at which its record is read again; after the last one at its cadence. */
const looksAgainMs = [30 * 60_000, 3 * 3_600_000] as const;

/**
 * Returns when to read again a record whose claim was applied at `applied_at`, after a read sent at `sent_at`. Null: at
 * its cadence.
 */
export function rereadAt(subject: Subject, applied_at: number, sent_at: number): number | null {
  const { kind, wave } = about(subject);
  if (kind === 'price' && wave === undefined) return null;
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
export function isApart(subject: Subject, first_at: number, sent_at: number): boolean {
  return sent_at - first_at >= (about(subject).apart_ms ?? apartMs);
}
