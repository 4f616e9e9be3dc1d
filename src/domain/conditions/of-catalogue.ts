import { number } from '../../format.ts';
import { isOftenWrong } from '../checks/error-rate.ts';
import { isOverdue } from '../evidence/hold.ts';
import { heldText, isTold } from '../evidence/words.ts';
import { shortListText } from '../sale/short-list.ts';
import { ageLabel, brokenAges, isHeldOnly, isShortOnly, unsettled } from './ages.ts';
import { type ConditionKinds, type FoundCondition, noted, stopsReads } from './condition.ts';
import type { ConditionFacts } from './facts.ts';

/** Causes that stop all reads, including a daemon that hangs. */
const keepsOld = [...stopsReads, 'daemon-silent'];

/** Conditions of the data that storefronts read. */
export const ofCatalogue = {
  'promise-broken': {
    about: 'Promises',
    severity: 'error',
    means: 'records are older than promised, or past their limit and hidden',
    todo: '`catalogued status` shows which, `catalogued plan` whether the call budget can keep the promise, `catalogued explain PRODUCT` why one is late',
    depends_on: keepsOld,
    found: promiseBroken,
  },
  'list-incomplete': {
    about: 'List',
    severity: 'error',
    means:
      'a list has fewer rows than the service counts, or rows that could not be used: what it lacks is not mirrored. The mirror is not filled by such a list of products, and nothing is withdrawn by it. Once three lists at least half an hour apart lack the same, they are taken as they are and this is a warning',
    todo: 'Run `catalogued probe` and ask the service why its list is short. If its total counts what the list leaves out, set `service.profile.list_total` to `ignore`',
    depends_on: keepsOld,
    found: ({ short_lists }) =>
      short_lists.length === 0
        ? null
        : {
            since: Math.min(...short_lists.map(({ since }) => since)),
            says: `the list is incomplete: ${short_lists.map(shortListText).join('; ')}`,
            severity: unsettled(short_lists).length === 0 ? 'warning' : 'error',
          },
  },
  held: {
    about: 'Held',
    severity: 'warning',
    means:
      'so many answers take something away at once that they are not believed: products, sale status, dates, prices, variants or texts. The mirror shows what it had, as `stale`. The hold ends when the service takes it back, when samples confirm it for hours (dates, sale status and texts: 3; prices: 24), or when you decide. Where more than 80 % of 60 or more records claim it, only you or the service can end it. After a day it is an error',
    todo: 'Ask the service; then type `catalogued held approve KIND` to believe it, or `catalogued held reject KIND` to keep what is shown; `catalogued held list` shows what was said',
    found: heldClaims,
  },
  'records-failing': {
    about: 'Failing',
    severity: 'warning',
    means:
      'the reads of some records have failed again and again, most of them for two days or more. They keep their last good data and are tried once a day. A list that does not end is one of them: what is gone from it is not noticed',
    todo: '`catalogued status` says why they fail, `catalogued explain PRODUCT` of one; tell the service what it answers',
    depends_on: [...keepsOld, 'no-progress', 'fill-endless'],
    found: ({ records: { failing_long } }) =>
      failing_long === 0 ? null : { since: null, says: `${number(failing_long)} records fail again and again` },
  },
  'images-vanished': {
    about: 'Images',
    severity: 'error',
    means:
      'every product of a list page lost its images at once: more likely a lost entitlement than a withdrawal. Each is shown until 14 days after it was confirmed',
    todo: 'Ask the service whether your account may still use images',
    found: noted(
      'images-vanished',
      (products) =>
        `the list suddenly shows no images for ${number(products)} products: the known ones stay visible until 14 days after their last confirmation`,
    ),
  },
  'images-unverified': {
    about: 'Images',
    severity: 'error',
    means: 'the images of some products were not confirmed for 12 days; they are hidden after 14',
    todo: 'Find out why the list and their own reads fail: `catalogued status`, `catalogued explain PRODUCT`',
    depends_on: [...keepsOld, 'images-vanished'],
    found: noted(
      'images-unverified',
      (products) =>
        `images of ${number(products)} products have not been confirmed for 12 days, and are hidden after 14`,
    ),
  },
  'images-disk': {
    about: 'Images',
    severity: 'warning',
    means: 'image files have reached `images.disk`; new ones are not fetched, the addresses in the view still work',
    todo: 'Raise `images.disk`, or choose fewer `images.sizes`',
    found: noted(
      'images-disk',
      (products) => `image files of ${number(products)} products cannot be fetched: images.disk is used up`,
    ),
  },
  'images-refused': {
    about: 'Images',
    severity: 'warning',
    means: 'image addresses that are not http or https on a public host are not published',
    todo: 'Name a host of your own in `images.hosts`; otherwise tell the service',
    found: noted(
      'images-refused',
      (products) =>
        `some images of ${number(products)} products are not published: their URLs are not http or https on public hosts`,
    ),
  },
  'prices-refused': {
    about: 'Prices',
    severity: 'warning',
    means: 'the service sent prices below zero; what they are of cannot be bought',
    todo: 'Tell the service; `catalogued explain PRODUCT --date DATE` shows the read',
    found: noted(
      'prices-refused',
      (products) =>
        `the service sent negative prices for ${number(products)} products: they are rejected, and what they belong to is not sold`,
    ),
  },
  'other-dates': {
    about: 'Dates',
    severity: 'warning',
    means:
      'the service answered for other dates than requested for five or more products. The requested dates keep what was known about them and become stale; none becomes sold out',
    todo: 'Look for a cache or proxy on the way that ignores the query, and run `catalogued probe`: it says whether `service.profile.parameters` are right',
    found: noted(
      'other-dates',
      (products) =>
        `the service answered for other dates than requested for ${number(products)} products: the old facts about the remaining dates are kept and become stale`,
    ),
  },
  'often-wrong': {
    about: 'Errors',
    severity: 'warning',
    means:
      'the availability error rate is 1.5 % or more: so many checks and orders found the mirror wrong, which is not chance where the goal of 1 % is met',
    todo: '`catalogued status` names the products; give their category a shorter cadence, or see whether their changes are announced',
    depends_on: ['promise-broken', ...keepsOld],
    found: ({ error_rate }) => {
      if (!isOftenWrong(error_rate)) return null;
      const { checks, wrong, orders, orders_wrong } = error_rate;
      const [errors, reports] = [wrong + orders_wrong, checks + orders];
      const rate = ((100 * errors) / reports).toFixed(1);
      return {
        since: null,
        says: `the mirror was wrong in ${rate} % of checks and orders, ${number(errors)} of ${number(reports)}`,
      };
    },
  },
} satisfies ConditionKinds;

function promiseBroken(facts: ConditionFacts) {
  const broken = brokenAges(facts).filter((age) => !isShortOnly(age, facts) && !isHeldOnly(age, facts));
  if (broken.length === 0) return null;
  return { since: null, says: broken.map(({ line, says }) => `${ageLabel(line)}: ${says}`).join('; ') };
}

function heldClaims({ held }: ConditionFacts, now: number): FoundCondition | null {
  const told = held.filter(isTold);
  if (told.length === 0) return null;
  return {
    since: Math.min(...told.map((each) => each.since)),
    says: told.map((each) => heldText(each, now)).join('; '),
    severity: told.some((each) => isOverdue({ ...each, opened_at: each.since }, now)) ? 'error' : 'warning',
  };
}
