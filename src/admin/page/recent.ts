import type { ChangeKind } from '../../feed/change.rules.ts';
import type { FeedChange } from '../../feed/changes.store.ts';
import { listing, marked, type Words } from '../../kernel/document-section.ts';
import { ago, number, short } from '../../kernel/format.ts';
import { isMembers } from '../../kernel/values/exact-json.ts';
import { moneyText } from '../../kernel/values/money.ts';
import type { ListedDelivery } from '../../receiver/delivery.ts';
import { type Html, html, listPart } from './html.ts';
import type { TitledChange } from './memory.ts';

/** The detail of a change; its members depend on the kind. */
type Detail = Readonly<Record<string, unknown>>;

/** Predicates that follow the title of a product, by kind of change. */
const sentences: Readonly<Record<ChangeKind, (detail: Detail, of: FeedChange) => string>> = {
  product_added: () => 'is new',
  product_changed: ({ fields }, of) => `has changed${inLanguage(of)}${listed(fields)}`,
  product_withdrawn: ({ reason }) => `was withdrawn${because(reason)}`,
  product_returned: () => 'is listed again',
  sale_disabled: ({ reason, expected_reopening: back }) =>
    `was closed${because(reason)}${typeof back === 'string' ? `, expected back ${spoken(back)}` : ''}`,
  sale_enabled: () => 'is on sale again',
  dates_withheld: () => 'was closed: none of its dates is on sale',
  dates_released: () => 'is on sale again, with its dates',
  price_changed: (detail, of) => moved(of.date === null ? 'its price' : `its cheapest ticket${on(of)}`, detail),
  date_added: (_, of) => `can be booked${on(of)}: a new date`,
  date_sold_out: (_, of) => `is sold out${on(of)}`,
  date_back: (_, of) => `can be booked again${on(of)}`,
  image_added: ({ credit }) => `has a new image${credited(credit)}`,
  image_credit_changed: ({ old, new: now }) =>
    `has an image with another credit: ${textOf(now) ?? 'none'} instead of ${textOf(old) ?? 'none'}`,
  image_withdrawn: ({ credit }) => `has lost an image${credited(credit)}`,
  checkout_changed: ({ fields }, of) => `has changed checkout information${inLanguage(of)}${listed(fields)}`,
  variants_changed: ({ variant_ids }, of) => `has ${counted(variant_ids, 'changed ticket')}${inLanguage(of)}`,
  slots_changed: ({ dates }) => `has changed times, prices or limits on ${counted(dates, 'date')}`,
  images_changed: ({ image_keys }) => `has ${counted(image_keys, 'changed image')}`,
  prices_changed: (detail) => moved('its price', detail),
  experience_changed: ({ experience_ids }) => `has joined or left ${counted(experience_ids, 'experience')}`,
  held: ({ subject }) => `is held: too many answers make the same claim${because(subject)}`,
  // Of no product: no page lists them.
  tags_changed: () => 'has other tags',
  pass_completed: () => 'was read',
};

/** Returns a change as the rest of a sentence that begins with the product's title. */
export function changeText(change: FeedChange): string {
  const { kind, detail } = change;
  const known = Object.hasOwn(sentences, kind) ? sentences[kind as ChangeKind] : null;
  return known === null ? `has changed: ${short(spoken(kind), 60)}` : known(detailOf(detail), change);
}

function detailOf(text: string): Detail {
  try {
    const detail: unknown = JSON.parse(text);
    return isMembers(detail) ? detail : {};
  } catch {
    return {};
  }
}

function on({ date }: FeedChange): string {
  return date === null ? '' : ` on ${date}`;
}

function inLanguage({ language }: FeedChange): string {
  return language === null ? '' : ` in ${language}`;
}

function because(reason: unknown): string {
  const text = textOf(reason);
  return text === null ? '' : ` (${spoken(text)})`;
}

function credited(credit: unknown): string {
  const text = textOf(credit);
  return text === null ? '' : ` (${text})`;
}

/** The most members that are named. */
const listedAtMost = 4;

function listed(names: unknown): string {
  const all = Array.isArray(names) ? names.flatMap((name) => (typeof name === 'string' ? spoken(name) : [])) : [];
  if (all.length === 0) return '';
  const more = all.length > listedAtMost ? ` and ${number(all.length - listedAtMost)} more` : '';
  return `: ${short(all.slice(0, listedAtMost).join(', '), 120)}${more}`;
}

function counted(list: unknown, noun: string): string {
  const count = Array.isArray(list) ? list.length : 0;
  return `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** A price in minor units before and after; null where there is none. */
function moved(what: string, { currency, old, new: now }: Detail): string {
  const text = (amount: unknown) => (typeof amount === 'number' ? moneyText(amount, textOf(currency) ?? '') : null);
  const [before, after] = [text(old), text(now)];
  if (after === null) return `has no price any more: ${what} was ${before ?? 'not known'}`;
  return before === null
    ? `has a price: ${what} is ${after}`
    : `has another price: ${what} is ${after}, and was ${before}`;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? short(value, 60) : null;
}

/** Writes a word of the contract as people do. */
function spoken(word: string): string {
  return word.replaceAll(/[_-]/g, ' ');
}

/** Lists the newest changes of the feed. */
export function changesPart(changes: readonly TitledChange[], now: number): Html | null {
  const words = (change: TitledChange) =>
    html`<a href="/product?id=${change.product_id}">${short(change.title ?? `Product ${change.product_id}`, 80)}</a> ${changeText(change)}.`;
  return changesTable(changes, words, 'None yet', now);
}

/** Lists the newest changes of one product, which they begin with. */
export function changesOfProduct(changes: readonly FeedChange[], now: number): Html | null {
  return changesTable(changes, (change) => html`It ${changeText(change)}.`, 'None is in the feed', now);
}

function changesTable<Change extends FeedChange>(
  changes: readonly Change[],
  words: (change: Change) => Html,
  none: string,
  now: number,
): Html | null {
  const table = listing('The newest of the feed', changes, {
    change: (change) => html`<span class="said">${words(change)}</span>`,
    when: ({ at }) => ago(at, now),
  });
  return listPart('Last changes', changes.length === 0 ? none : table);
}

/** Lists the newest deliveries, and the state of each. */
export function deliveriesPart(deliveries: readonly ListedDelivery[], now: number): Html | null {
  const table = listing('The newest first', deliveries, {
    number: ({ delivery_id }) => delivery_id,
    when: ({ received_at }) => ago(received_at, now),
    subscription: ({ subscription_id }) => subscription_id,
    state: stateOf,
  });
  return listPart('Last deliveries', deliveries.length === 0 ? 'None yet' : table);
}

function stateOf({ state, reason }: ListedDelivery): Words {
  const tones = { applied: 'yes', waiting: 'none', superseded: 'none', quarantined: 'some' } as const;
  return reason === null
    ? marked(tones[state], state)
    : [marked(tones[state], state), ' ', marked('soft', short(reason, 60))];
}
