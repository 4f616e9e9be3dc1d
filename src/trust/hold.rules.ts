import { hourMs, minuteMs } from '../kernel/clock.ts';
import { counted, number } from '../kernel/format.ts';
import { moneyText } from '../kernel/values/money.ts';
import {
  about,
  type ClaimedValues,
  type HoldStanding,
  type Kind,
  limitOf,
  type Subject,
  subjects,
  type Whole,
} from './claims.rules.ts';
import { leastAble } from './wave.rules.ts';

/*
 * Decides about a hold: so many records make the same claim that the mirror keeps what it shows of all of them. It ends
 * when the service takes the claim back, when the service has insisted for hours, or when a person decides.
 */

/** State of a hold in force, or of one that ended less than a day ago because the service insisted. */
export interface HoldState {
  readonly subject: Subject;
  /**
   * `asking`: the service insisted, and each record is read once more. `taken-back`: each record is read once more,
   * because few samples still make the claim. `reported`: accepted, as the configuration demands.
   */
  readonly state: 'held' | 'asking' | 'taken-back' | 'reported' | 'ended';
  /** Decision of a person, in force until `decided_until`; null if nobody has decided. */
  readonly decision: 'approved' | 'rejected' | null;
  readonly decided_until: number | null;
  readonly ended_at: number | null;
  /** Likeness of its claims (`likenessOf`); null: they only take something away. */
  readonly likeness: string | null;
}

/** A hold with its samples. */
export interface Hold extends HoldState {
  readonly opened_at: number;
  /**
   * Instant at which the current sample is judged and the next one drawn, and the one at which it was drawn (null:
   * none).
   */
  readonly next_at: number;
  readonly sampled_at: number | null;
  /** Shares, from 0 to 1, of the last three samples that still made the claim. */
  readonly shares: readonly number[];
}

/** Times at which samples are judged, counted from the beginning of the hold; then each hour. */
const sampleAtMs = [1, 5, 15, 30, 60].map((minutes) => minutes * minuteMs);
/** Number of records in a sample. */
export const sampleSize = 20;
/**
 * A claim is accepted once it has lasted this long, and at least `share` of each of the last `samples` samples makes
 * it.
 */
const agreesAfterMs: Readonly<Record<Kind, number>> = { less: 3 * hourMs, price: 24 * hourMs };
const agreeing = { samples: 3, share: 0.85 };
/** The service has taken a claim back if at most `share` of each of the last `samples` samples makes it. */
const takenBack = { samples: 2, share: 0.15 };
/**
 * Whole catalogues do not change without an announcement. If a larger share of this many records or more makes a claim,
 * it is never accepted without a person.
 */
const whole = { records: 60, share: 0.8 };
/** Time for which a person's decision is in force. */
export const decidedMs = 24 * hourMs;
/** Age from which a person has to decide about a hold. */
const overdueMs = 24 * hourMs;
/** Time for which a hold that ended because the service insisted is still reported. */
export const toldAfterMs = 24 * hourMs;

/** Returns when the next sample is judged. */
export function nextSampleAt(opened_at: number, now: number): number {
  const after = now - opened_at;
  const first = sampleAtMs.find((at) => at > after);
  return first === undefined ? opened_at + hourMs * (Math.floor(after / hourMs) + 1) : opened_at + first;
}

/** Result of judging a hold. */
export type HoldVerdict =
  | 'goes-on'
  /** Few records still make the claim: the hold ends, and each claim is judged by itself. */
  | 'passed'
  /** Samples show that the service takes the claim back: all records that make it are read again. */
  | 'taken-back'
  /** The service has insisted: each record is read once more, and its answer accepted. */
  | 'agreed';

/**
 * Judges a hold by the current claims and its samples. `contradicting` counts the records that were answered since it
 * began and do not make the claim. In the first hours most records were not read yet, so a whole catalogue looks like a
 * part of it.
 */
export function judgeHold(
  { subject, opened_at, state, shares }: Hold,
  { able, claiming, contradicting }: Whole & { readonly contradicting: number },
  now: number,
): HoldVerdict {
  if (claiming < limitOf(able) / 2) return 'passed';
  // A wave was found among few answers. Others since then may show that only a part of the catalogue changes.
  const { until = 0 } = about(subject).wave ?? {};
  const answered = claiming + contradicting;
  if (answered >= leastAble && claiming < until * answered) return 'passed';
  if (state !== 'held') return 'goes-on';
  const last = (samples: number) => (shares.length < samples ? null : shares.slice(-samples));
  if (last(takenBack.samples)?.every((share) => share <= takenBack.share)) return 'taken-back';
  const agreed = last(agreeing.samples)?.every((share) => share >= agreeing.share);
  if (about(subject).byPerson) return 'goes-on';
  const isWhole = able >= whole.records && claiming > whole.share * (claiming + contradicting);
  return agreed && !isWhole && now - opened_at >= agreesAfterMs[about(subject).kind] ? 'agreed' : 'goes-on';
}

/**
 * Returns the state after a sample of which `share` still makes the claim: a service that took it back may make it
 * again.
 */
export function stateAfterSample(state: Hold['state'], share: number): Hold['state'] {
  return state === 'taken-back' && share > takenBack.share ? 'held' : state;
}

/** Returns a person's decision while it is in force; null otherwise. */
export function decisionAt({ decision, decided_until }: HoldState, now: number): Hold['decision'] {
  return decided_until !== null && now < decided_until ? decision : null;
}

/** Returns whether a hold is in force, so that a person may decide. */
export function isOpen({ state }: HoldState): boolean {
  return state !== 'ended' && state !== 'reported';
}

/** Returns whether a person must decide: it has been held for a day, and no decision is in force. */
export function isOverdue(hold: HoldState & { readonly since: number }, now: number): boolean {
  return isOpen(hold) && now - hold.since >= overdueMs && decisionAt(hold, now) === null;
}

/** Returns the decision that applies to a subject now. */
export function holdStanding(hold: Hold | null, now: number): HoldStanding {
  if (hold === null || hold.state === 'ended') return 'free';
  const decided = decisionAt(hold, now);
  if (decided !== null) return decided === 'approved' ? 'believed' : 'held';
  return hold.state === 'asking' ? 'agreed' : 'held';
}

/** Returns the commands that decide a hold. */
export function whatToType(subject: Subject): string[] {
  return [`catalogued held approve ${subject}`, `catalogued held reject ${subject}`];
}

/** Held claims of one subject, with the number of records that make them. */
export interface HeldClaims extends HoldState {
  readonly since: number;
  readonly able: number;
  readonly claiming: number;
  readonly examples: readonly HeldExample[];
}

/** A record under a claim, for people. */
interface HeldExample extends ClaimedValues {
  readonly product_id: number;
  readonly title: string | null;
  readonly edition: string;
  readonly part: number;
}

/** Describes a hold in one clause, with the word that a person types for it. */
export function heldText(held: HeldClaims, now: number): string {
  const { subject, examples } = held;
  const some = [...new Set(examples.map(({ product_id }) => product_id))].join(', ');
  const such = some === '' ? '' : `, such as product ${some}`;
  return `${subject}, ${claimText(held)}: ${progressText(held, now, such)}`;
}

/** Returns how many records make the claim and the state of the hold. A share of none would read as if it had no ground. */
export function progressText(held: HeldClaims, now: number, such = ''): string {
  const share = held.claiming === 0 ? '' : `${shareText(held)}${such}; `;
  return `${share}${stateText(held, now)}`;
}

/** Returns the claims of a hold in words, with that in which they are alike. */
export function claimText({ subject, likeness }: HeldClaims): string {
  const { text, wave } = about(subject);
  if (likeness === null) return text;
  return wave?.by === 'ratio' ? `${text}, × ${likeness.replace(/\.?0+$/, '')}` : `${text}: ${likeness}`;
}

/** Returns how many records make the claim, of how many. */
function shareText({ able, claiming }: HeldClaims): string {
  const share = able === 0 ? 0 : Math.round((100 * claiming) / able);
  return `${number(claiming)} of ${counted(able, 'record')} (${share} %, the limit is ${number(limitOf(able))})`;
}

const stateTexts = {
  held: 'the mirror shows what it had',
  approved: 'approved: each is asked once more, and believed',
  rejected: 'rejected: the mirror shows what it had',
  asking: 'the service insists: each is asked once more, and believed',
  'taken-back': 'the service takes it back: each is asked again',
  reported: 'shown, and reported for a day',
  ended: 'believed less than a day ago, because the service insisted',
};

/** Returns the state of a hold, in one clause. */
export function stateText(held: HeldClaims, now: number): string {
  const { state } = held;
  return stateTexts[isOpen(held) ? (decisionAt(held, now) ?? state) : state];
}

/** Returns whether a hold is reported to people. An approved one is not, once no record makes its claim. */
export function isTold(held: HeldClaims): boolean {
  return !(held.decision === 'approved' && held.claiming === 0);
}

/** Returns what is shown, and what the answer has instead, as text: how much of a record, its lowest price, or its value. */
export function amountTexts(
  subject: Subject,
  edition: string,
  { shown, said, shown_as, said_as }: ClaimedValues,
): readonly [shown: string, said: string] {
  if (about(subject).wave?.by === 'value') return [shown_as ?? 'none', said_as ?? 'none'];
  const texts = [amountText(subject, edition, shown), amountText(subject, edition, said)] as const;
  return subject === 'other-ids' ? [texts[0], `${texts[1]} (${said_as})`] : texts;
}

function amountText(subject: Subject, edition: string, amount: number | null): string {
  const { kind, some, none } = subjects[subject];
  if (kind === 'price') return amount === null ? none : moneyText(amount, currencyOf(edition));
  return amount === null || amount === 0 ? none : some.replace('#', number(amount));
}

/** Returns the currency of an edition: the edition of dates is a currency; that of a list ends with it. */
export function currencyOf(edition: string): string {
  return edition.split('/').at(-1) ?? edition;
}
