import { otherDatesMany } from '../../dates/window-requests.rules.ts';
import { isOftenWrong } from '../../desk/error-rate.rules.ts';
import { counted, number } from '../../kernel/format.ts';
import { belowZero, notPublic } from '../../service/member.rules.ts';
import { endsTooSoon, remarkIn } from '../../service/shapes.rules.ts';
import { heldText, isOverdue, isTold } from '../../trust/hold.rules.ts';
import { shortListText } from '../../trust/short-list.rules.ts';
import { unreadableGrade, unreadableText } from '../../trust/unreadable.rules.ts';
import { ageLabel, isHeldOnly, isShortOnly, missedTargets, unsettled } from './ages.rules.ts';
import { type ConditionKind, type ConditionKinds, type FoundCondition, fails, stopsReads } from './condition.rules.ts';
import type { ConditionFacts } from './facts.rules.ts';

/** Causes that stop all reads, including a daemon that hangs. */
const keepsOld = [...stopsReads, 'daemon-silent', 'daemon-stopped'];

/** Conditions of the data that storefronts read. */
export const ofCatalogue = {
  'freshness-missed': {
    about: 'Freshness',
    headline: 'Some records have been outdated',
    severity: 'error',
    means: 'freshness targets are missed: records were not read within their target, or are hidden',
    todo: '`catalogued status` shows which, `catalogued plan` whether the call budget is enough, `catalogued explain PRODUCT` why one is late',
    depends_on: keepsOld,
    found: freshnessMissed,
  },
  'list-incomplete': {
    about: 'List',
    headline: 'A list of the service has been incomplete',
    severity: 'error',
    means:
      'a list has fewer rows than the service counts, or unusable rows. Such a list fills no mirror and withdraws nothing. After three equal lists, at least half an hour apart, it is accepted, and this becomes a warning',
    todo: 'Run `catalogued probe` and ask the service why its list is short. If its total counts rows that the list leaves out, set `service.profile.list_total` to `ignore`',
    depends_on: stopsReads,
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
    headline: 'Changes have been held back',
    severity: 'warning',
    means:
      'too many answers at once take something away, such as products, dates or prices, or replace values by one. They are not believed yet: the mirror keeps what it had, as `stale`. The hold ends when the service takes it back, when samples confirm it for hours, or when you decide. After a day it is an error. What does little harm, such as new titles, is shown and only reported',
    todo: 'Ask the service; then type `catalogued held approve KIND` to believe it, or `catalogued held reject KIND` to keep what is shown',
    found: heldClaims,
  },
  'records-failing': {
    about: 'Failing',
    headline: 'Reads of some records have failed',
    severity: 'warning',
    means:
      'reads of some records fail again and again, most of them for two days or more. They keep their last good data and are tried daily',
    todo: '`catalogued status` and `catalogued explain PRODUCT` show why they fail; tell the service what it answers',
    depends_on: [...keepsOld, 'no-progress', 'fill-endless'],
    found: ({ records: { failing_long } }) =>
      failing_long === 0
        ? null
        : {
            since: null,
            says: `${counted(failing_long, 'record')} ${failing_long === 1 ? 'fails' : 'fail'} again and again`,
          },
  },
  'images-vanished': {
    about: 'Images',
    headline: 'Images have been missing from the product list',
    severity: 'error',
    means:
      'every product of a list page lost its images at once: probably a lost entitlement. Each is shown until 14 days after its last confirmation',
    todo: 'Ask the service whether your account may still use images',
    found: fails(
      'image-list',
      (products) =>
        `the list suddenly shows no images for ${counted(products, 'product')}: the known ones stay visible until 14 days after their last confirmation`,
    ),
  },
  'images-unverified': {
    about: 'Images',
    headline: 'Some images have not been confirmed',
    severity: 'error',
    means: 'images of some products have not been confirmed for 12 days; they are hidden after 14',
    todo: '`catalogued status` and `catalogued explain PRODUCT` show why reads of the list and of these products fail',
    depends_on: [...keepsOld, 'images-vanished'],
    found: ({ images_unconfirmed }) =>
      images_unconfirmed === null
        ? null
        : {
            since: images_unconfirmed.since,
            says: `images of ${counted(images_unconfirmed.products, 'product')} have not been confirmed for 12 days, and are hidden after 14`,
          },
  },
  'images-disk': {
    about: 'Images',
    headline: 'The space for image files has been used up',
    severity: 'warning',
    means:
      'image files have reached the limit `images.disk`. New ones are not fetched; the addresses in the view still work',
    todo: 'Raise `images.disk`, or choose fewer `images.sizes`',
    found: fails(
      'image-disk',
      (products) => `image files of ${counted(products, 'product')} cannot be fetched: images.disk is used up`,
    ),
  },
  'images-refused': {
    about: 'Images',
    headline: 'Some image addresses have been refused',
    severity: 'warning',
    means: 'some image addresses are not http or https on a public host. They are not published',
    todo: 'Add hosts of your own to `images.hosts`; otherwise tell the service',
    found: remarkedAs(notPublic),
  },
  'images-expire': {
    about: 'Images',
    headline: 'Some image addresses have expired too soon',
    severity: 'warning',
    means:
      'the service signs some image addresses, and they end before the next read brings new ones. Nothing is hidden or read again for it',
    todo: 'Set `images.files` to true and show the stored files, which do not expire; or shorten `cadence.products`',
    found: remarkedAs(endsTooSoon),
  },
  'prices-refused': {
    about: 'Prices',
    headline: 'Negative prices have been refused',
    severity: 'warning',
    means: 'the service sent negative prices. What they belong to cannot be bought',
    todo: 'Tell the service; `catalogued explain PRODUCT --date DATE` shows the read',
    found: remarkedAs(belowZero),
  },
  'members-unreadable': {
    about: 'Unread',
    headline: 'Some members of answers have been unreadable',
    severity: 'warning',
    means:
      'in more than one of a hundred answers a member is there and cannot be read: the service has begun to write it otherwise. It is never taken for the value that permits most. Where more answers change than by chance, they are failed reads, the mirror keeps what it showed, as `stale`, and this is an error',
    todo: 'Run `catalogued probe`, and ask the service. If the new spelling stays, read it in an adapter (`service.adapter`); `catalogued explain PRODUCT` shows what one product lacks',
    depends_on: keepsOld,
    found: ({ unreadable }) => {
      const grades = unreadable.map(unreadableGrade);
      const told = unreadable.filter((_, index) => grades[index] !== 'line');
      return told.length === 0
        ? null
        : {
            since: Math.min(...told.map(({ since }) => since)),
            says: told.map(unreadableText).join('; '),
            severity: grades.includes('error') ? 'error' : 'warning',
          };
    },
  },
  'other-dates': {
    about: 'Dates',
    headline: 'The service has answered for other dates than requested',
    severity: 'warning',
    means:
      'the service answered for other dates than requested, for five or more products. The requested dates become stale; none is shown as sold out',
    todo: 'Look for a cache or proxy that ignores the query. Run `catalogued probe`: it tests `service.profile.parameters`',
    found: ({ records: { unanswered_products } }) =>
      unanswered_products < otherDatesMany
        ? null
        : {
            since: null,
            says: `the service answered for other dates than requested for ${counted(unanswered_products, 'product')}: the old facts about the remaining dates are kept and become stale`,
          },
  },
  'often-wrong': {
    about: 'Errors',
    headline: 'Checks have found the mirror wrong too often',
    severity: 'warning',
    means:
      'the availability error rate is 1.5 % or more: checks and orders found the mirror wrong too often for chance (goal: 1 %)',
    todo: '`catalogued status` names the products. Shorten the cadence of their category, or check whether their changes are announced',
    depends_on: ['freshness-missed', ...keepsOld],
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

function freshnessMissed(facts: ConditionFacts) {
  const { short_lists, held } = facts;
  const broken = missedTargets(facts).filter((age) => !isShortOnly(age, short_lists) && !isHeldOnly(age, held));
  if (broken.length === 0) return null;
  return { since: null, says: broken.map(({ line, says }) => `${ageLabel(line)}: ${says}`).join('; ') };
}

/** Returns the `found` of a condition that holds while some member has a remark. */
function remarkedAs(why: string): ConditionKind['found'] {
  return ({ unreadable }) => {
    const told = unreadable.filter(({ member }) => remarkIn(member).why === why);
    if (told.length === 0) return null;
    return { since: Math.min(...told.map(({ since }) => since)), says: told.map(unreadableText).join('; ') };
  };
}

function heldClaims({ held, at: now }: ConditionFacts): FoundCondition | null {
  const told = held.filter(isTold);
  if (told.length === 0) return null;
  return {
    since: Math.min(...told.map((each) => each.since)),
    says: told.map((each) => heldText(each, now)).join('; '),
    severity: told.some((each) => isOverdue(each, now)) ? 'error' : 'warning',
  };
}
