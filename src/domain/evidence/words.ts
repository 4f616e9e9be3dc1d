import { counted, number } from '../../format.ts';
import { moneyText } from '../values/money.ts';
import { about, type ClaimedValues, limitOf, type Subject, subjects } from './claims.ts';
import { decisionAt, type HoldState, isOpen } from './hold.ts';

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
