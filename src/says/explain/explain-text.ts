import { type Listing, listing, marked, type Section } from '../../kernel/document-section.ts';
import { ago, counted, duration, number, printable, secondText, short } from '../../kernel/format.ts';
import { signalText } from '../../schedule/signal.rules.ts';
import { meanwhileOf } from '../../service/shapes.rules.ts';
import { notedText } from '../../trust/unreadable.rules.ts';
import type { ExplainedClosure, ExplainedRecord, Explanation } from './explain.ts';
import { claimTexts } from './explain-claims.ts';

/* The explanation as text, for the command and the page. */

export function titleOf(title: string | null): string {
  return title === null ? '(no title)' : short(printable(title));
}

/** Returns the facts about the product as a whole, each with its heading. */
export function explainedFacts(found: Explanation, now: number): readonly (readonly [heading: string, says: string])[] {
  return [
    ['Shown', shownAs(found, now)],
    ...withheld(found, now),
    ...backsOff(found, now),
    ['Category', found.category ?? 'none'],
    ['Weight', weighed(found)],
    ['Venue', `${found.timezone ?? 'time zone unknown, so a day of margin at both ends'}, today is ${found.today}`],
    ['Images', imagesShown(found.images, now)],
    [
      'Covered',
      found.covered ? 'yes: a working subscription announces its changes' : 'no: changes are found only by reading',
    ],
    ...found.announced_by.map((each) => ['Announced', announces(each)] as const),
    ['Signals', listed(found, now)],
    ...found.notices.map(
      ({ change_type, subscription_id, received_at }) =>
        ['Notified', `${ago(received_at, now)}: ${change_type} (${subscription_id})`] as const,
    ),
    ['Costs', `${found.calls_per_day.toFixed(1)} calls a day`],
  ];
}

/** Returns the sections about its answers and reads; null: there is nothing to say of it. */
export function explainedSections(found: Explanation, now: number) {
  const { claims, closures, records } = found;
  const failing = records.filter(({ failure }) => failure !== null);
  const unanswered = unansweredDates(found, now);
  return {
    claims: claims.length === 0 ? null : { title: 'Answers that take something away', says: claimTexts(claims, now) },
    refused: {
      title: 'Answers that could not be used',
      says: failing.length === 0 ? ['None: the last answer of each part was good', ...unanswered] : unanswered,
      tables: failing.length === 0 ? [] : [failuresTable(failing, now)],
    },
    reads: { title: 'Reads', says: leftOutMembers(found, now), tables: [recordsTable(records, now)] },
    closures:
      closures.length === 0 ? null : { title: 'Announced closures', says: [], tables: [closuresTable(closures, now)] },
  } as const satisfies Record<string, Section | null>;
}

function recordsTable(records: readonly ExplainedRecord[], now: number): Listing {
  return listing('When and why each part was read, and will be', records, {
    part: (record) => `${partOf(record)} (${record.edition})`,
    'last read': ({ fetched_at: at, fetched_reason }) =>
      at === null ? 'never' : because(ago(at, now), fetched_reason),
    next: ({ due_at, due_reason }) => because(due_at <= now ? 'now' : `in ${duration(due_at - now)}`, due_reason),
    lane: ({ lane }) => lane,
    'changes a day': ({ changes_per_day }) => changes_per_day?.toFixed(2) ?? '-',
    weight: ({ weight }) => weight.toFixed(1),
    failures: ({ failures }) => failures || '-',
  });
}

function failuresTable(failing: readonly ExplainedRecord[], now: number): Listing {
  return listing('The last of each part; what was mirrored before is kept', failing, {
    part: (record) => `${partOf(record)} (${record.edition})`,
    when: ({ failed_at: at }) => (at === null ? '-' : ago(at, now)),
    'in a row': ({ failures }) => failures,
    why: ({ failure }) => marked('code', short(failure ?? '', 400)),
  });
}

function closuresTable(closures: readonly ExplainedClosure[], now: number): Listing {
  return listing('The newest first, and what reads found', closures, {
    'closed by notification': ({ notified_at }) => ago(notified_at, now),
    reason: ({ reason }) => reason ?? '-',
    'expected back': ({ expected_reopening }) => expected_reopening ?? '-',
    alternative: ({ alternative_product_id }) => String(alternative_product_id ?? '-'),
    state: ({ state }) => state,
  });
}

function because(when: string, reason: string | null): string {
  return reason === null ? when : `${when}, ${reason}`;
}

/** Returns the name of the part that a record covers: its dates, or its resource. */
function partOf({ resource, from, to }: ExplainedRecord): string {
  return from === null ? resource : `${from} to ${to}`;
}

/** Returns one sentence for each part whose last answer left out dates. */
function unansweredDates({ records }: Explanation, now: number): string[] {
  return records
    .filter(({ unanswered_at }) => unanswered_at !== null)
    .map(
      (each) =>
        `${each.from} to ${each.to} (${each.edition}): not all of these dates are answered, for ${duration(now - (each.unanswered_at ?? now))}`,
    );
}

/** Returns one sentence for each part whose answers have members that are not kept current, unreadable or remarkable. */
export function leftOutMembers({ records, unreadable }: Explanation, now: number): string[] {
  const leftOut = records
    .filter(({ left_out }) => left_out.length > 0)
    .map(
      (each) =>
        `${partOf(each)} (${each.edition}): not kept current, because it differs in every answer and feeds no column: ${printable(each.left_out.join(', '))}`,
    );
  const unread = unreadable.map(({ resource, member, edition, from, to, example, since, kept }) => {
    const meanwhile = kept
      ? 'too many answers have it so, so this one is a failed read, and what was shown stays, as stale'
      : meanwhileOf(resource, member);
    const part = from === null ? resource : `${from} to ${to}`;
    return `${part} (${edition}): ${notedText(member)} for ${duration(now - since)}, it is ${printable(example)}: ${meanwhile}`;
  });
  return [...leftOut, ...unread];
}

/** Describes how reliable a subscription that covers the product is. */
function announces({ subscription_id, trust, trusted }: Explanation['announced_by'][number]): string {
  const said =
    trust === null
      ? 'reads have found no change yet that shows how reliably it announces'
      : `${Math.round(100 * trust)} % of the changes that reads found it had announced`;
  return `by ${subscription_id}: ${said}${trusted ? '' : '; not trusted'}`;
}

/** Describes how well the product list shows changes of the product's dates. */
function listed({ list_signal }: Explanation, now: number): string {
  const { entry_changed_at: at } = list_signal;
  return `near dates: ${signalText(list_signal)}; ${at === null ? 'its price and sale status there have not changed' : `its own entry changed ${ago(at, now)}`}`;
}

/** Describes the harm of a stale copy, and the factors of it. */
function weighed({ weight, weighed: { category, interest, list_place, views, limited } }: Explanation): string {
  const place = list_place === null ? '' : `, place ${number(list_place)} in the service's order of popularity`;
  const most = limited ? ', which is the most that counts of one product' : '';
  return `a stale copy does ${weight.toFixed(1)} times the usual harm: category ${category.toFixed(1)} × interest ${interest.toFixed(1)} (${counted(Math.round(views), 'view')} lately${place})${most}`;
}

function shownAs(
  { withdrawn_at, sellable, sale_status, disabled_reason, expected_reopening }: Explanation,
  now: number,
): string {
  if (withdrawn_at !== null) return `no: withdrawn ${ago(withdrawn_at, now)}`;
  if (sellable) return 'yes, on sale';
  const reason = disabled_reason === null ? '' : `: ${printable(disabled_reason)}`;
  const reopening = expected_reopening === null ? '' : `, expected back ${printable(expected_reopening)}`;
  return `yes, not on sale (${sale_status}${reason}${reopening})`;
}

/** Describes why the dates of a product are withheld that is on sale by its last own read that was answered. */
function withheld(
  { dates_off_at, sellable, records, claims }: Explanation,
  now: number,
): (readonly [string, string])[] {
  if (dates_off_at === null || !sellable) return [];
  const next = Math.min(...records.filter(({ off_sale_at }) => off_sale_at !== null).map(({ due_at }) => due_at));
  const again = next <= now ? 'now' : `in ${duration(next - now)}, at ${secondText(next)}`;
  const since = duration(now - dates_off_at);
  const isGone = claims.some(({ subject, state }) => subject === 'sale-status' && state === 'applied');
  const because = isGone
    ? `the service has not had this product for ${since}, and its dates are withheld`
    : `availability has not said on sale for ${since}, but the product's last own read said enabled`;
  return [['Dates', `${because}: read again ${again}`]];
}

/** Describes the pause of a product that is throttled alone. */
function backsOff({ throttled_until }: Explanation, now: number): (readonly [string, string])[] {
  if (throttled_until === null || throttled_until <= now) return [];
  const left = `${duration(throttled_until - now)}, until ${secondText(throttled_until)}`;
  return [
    ['Throttled', `the service throttles this product while it answers for others: it alone is not asked for ${left}`],
  ];
}

function imagesShown({ shown, verified_at, hidden_from }: Explanation['images'], now: number): string {
  if (verified_at === null || hidden_from === null) return 'none: never confirmed';
  const until =
    hidden_from > now
      ? `hidden in ${duration(hidden_from - now)} unless confirmed again`
      : 'hidden: not confirmed for 14 days';
  return `${shown}, confirmed ${ago(verified_at, now)}, ${until}`;
}
