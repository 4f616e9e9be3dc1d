import { z } from 'zod';
import {
  isList,
  type NeededResourcePath,
  type ResourcePath,
  resourceNames,
  resources,
} from '../domain/schedule/resources.ts';
import { minorUnitExponent } from '../domain/values/money.ts';
import { duration } from './units.ts';
import {
  always,
  areDistinct,
  flag,
  headerText,
  ids,
  matching,
  optionalFile,
  refuse,
  section,
  structure,
  token,
  whole,
  wholeIn,
} from './values.ts';

function path(fallback: string, placeholder?: string) {
  return matching(/^\/[^\s?#]*(\?[^\s?#]*)?$/, `expected a path like ${fallback}`).refine(
    (value) => placeholder === undefined || value.includes(placeholder),
    { error: `expected ${placeholder} in it` },
  );
}

const product = '{product_id}';
const subscription = '{subscription_id}';

function neededPath(at: string, placeholder?: string) {
  return path(at, placeholder).default(at);
}

function optionalPath(at: string, placeholder?: string) {
  return path(at, placeholder).nullable().default(at);
}

type ResourcePaths = Readonly<Record<NeededResourcePath, ReturnType<typeof neededPath>>> &
  Readonly<Record<Exclude<ResourcePath, NeededResourcePath>, ReturnType<typeof optionalPath>>>;

const resourcePaths = Object.fromEntries(
  resourceNames.map((name) => {
    const { path, at, needed } = resources[name];
    const placeholder = isList(name) ? undefined : product;
    return [path, needed ? neededPath(at, placeholder) : optionalPath(at, placeholder)];
  }),
) as unknown as ResourcePaths;

function answerTime(fallback: string) {
  return duration(fallback, { min: '1m', max: '7d' });
}

const parameters = {
  page: token().default('page'),
  page_size: token().default('page_size'),
  language: token().default('lang'),
  currency: token().default('currency'),
  from: token().default('start_date'),
  to: token().default('end_date'),
};

/** Settings that the specification leaves open. All have defaults, and all can be changed. */
const profile = section({
  authorization: section({
    header: token()
      .nullable()
      .default('Authorization')
      .describe('The header that carries the key; null: no key is sent and none is needed.'),
    scheme: headerText()
      .nullable()
      .default('Token')
      .describe('The scheme before the key in that header; null: the bare key.'),
    parameter: token()
      .nullable()
      .default(null)
      .describe('The query parameter that carries the key, in place of the header; null: none.'),
  }).describe('How the key is sent.'),
  paths: section({
    ...resourcePaths,
    subscription: optionalPath(`/v2/product-change-notification/${subscription}`, subscription),
    reactivate: optionalPath(`/v2/product-change-notification/${subscription}/reactivate`, subscription),
  }).describe(
    'Where the service answers, with a query if need be; null switches a resource off, except products and availability.',
  ),
  subscription_reads: flag(true).describe('Whether a subscription can be read; the specification lists only its PUT.'),
  parameters: section(parameters).describe('Names of the query parameters.'),
  first_page: whole(1, 0, 1).describe('Number of the first page of a list.'),
  page_size: whole(100, 1, 100).describe('Rows requested per list page.'),
  list_order: matching(/^[^\s=&]+=[^=&]+$/, 'expected a query parameter and its value, like sort=popularity desc')
    .nullable()
    .default('sort=popularity desc')
    .describe('Query parameter and value that request the list in order of popularity; null: its order means nothing.'),
  list_total: z
    .enum(['check', 'ignore'], { error: 'expected check or ignore' })
    .default('check')
    .describe(
      'A list with fewer rows than the total it names is incomplete (check); ignore, if the total counts what the list leaves out.',
    ),
  days_per_request: whole(31, 1, 31).describe('Dates that one availability answer covers.'),
  entities_per_subscription: whole(1000, 1, 100_000).describe(
    "A longer list is split into several subscriptions; the service's limit is unknown.",
  ),
  notifications: section({
    hold: answerTime('15m').describe('How long the service holds a notification to merge further changes into it.'),
    retries: answerTime('15m').describe('How long the service repeats a notification that was not answered.'),
  }).describe('How late a notification may come.'),
  throttle_statuses: z
    .array(wholeIn(400, 599, 'an HTTP status'), { error: 'expected a list of HTTP statuses' })
    .default([429, 503])
    .describe('Statuses that mean: send fewer calls.'),
  retry_after: z
    .enum(['find-out', 'account'], { error: 'expected find-out or account' })
    .default('find-out')
    .describe(
      'Reach of a long Retry-After. After a minute one call tests whether it is meant for all (find-out); account, if it always is.',
    ),
  timeout: duration('60s', { min: '100ms', max: '10m' }).describe(
    'Total time allowed for a call; three times as long for a page of the list.',
  ),
});

function listOf<Item extends z.ZodType<string>>(item: Item, what: string, fallback: [string]) {
  return z
    .tuple([item], item, { error: `expected a list of at least one ${what}` })
    .refine(areDistinct, { error: `expected each ${what} once` })
    .default(fallback as never);
}

const language = matching(/^[a-z]{2}$/, 'expected a language code of two lower case letters, like en');

const currencyError = 'expected an ISO 4217 currency code in upper case, like EUR';
const currencyPattern = /^[A-Z]{3}$/;
const currency = matching(currencyPattern, currencyError).refine(
  (code) => !currencyPattern.test(code) || minorUnitExponent(code) !== null,
  { error: currencyError },
);

const baseUrl = z
  .string({ error: 'expected the address of the service, like https://api.example.com' })
  .superRefine((value, context) => {
    const problem = problemOfBaseUrl(value);
    if (problem !== null) refuse(context, [], problem);
  });

function problemOfBaseUrl(value: string): string | null {
  const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
  if (url === null) return 'expected the address of the service, like https://api.example.com';
  if (url.username !== '' || url.password !== '')
    return 'has credentials in it; expected the address alone, and the key in service.api_key_file';
  if (url.pathname !== '/' || /[?#]/.test(value))
    return 'has more than a host; expected the address alone, and paths in service.profile.paths';
  return null;
}

const ownFilters = { include_product_ids: ids().default([]), exclude_product_ids: ids().default([]) };
const filterError = 'expected a value or a list of values';
const filterValue = z.union([z.string(), z.number(), z.boolean()], { error: filterError });
const select = z
  .object(
    {
      include_product_ids: ownFilters.include_product_ids.describe(
        'Products mirrored even if the filters leave them out, as long as their own reads find them.',
      ),
      exclude_product_ids: ownFilters.exclude_product_ids.describe(
        'Not mirrored; one that was is withdrawn at the next start or reload.',
      ),
    },
    { error: 'expected keys and values' },
  )
  .catchall(z.union([filterValue, z.array(filterValue)], { error: filterError }))
  .superRefine((filters, context) => {
    for (const name of Object.keys(filters)) {
      if (/^(in|ex)clude_products?(_ids?)?$/.test(name) && !Object.hasOwn(ownFilters, name))
        refuse(context, [name], `is no filter; did you mean ${name.slice(0, 7)}_product_ids?`);
    }
  }, always)
  .prefault({});

/** `service`: the remote API and what is asked of it. */
export const service = structure({
  base_url: baseUrl.describe('The address of the service, without a path. No default.'),
  api_key_file: optionalFile().describe(
    'The file that holds the key; else the systemd credential api_key or CATALOGUED_API_KEY.',
  ),
  user_agent: headerText().default('catalogued').describe('The service asks that it contains the name of your brand.'),
  languages: listOf(language, 'language', ['en']).describe('The first is primary: it decides what is visible.'),
  currencies: listOf(currency, 'currency', ['EUR']).describe('The first is primary.'),
  select: select.describe('Filters of the product list, passed through: city_id, country_id, tag_id …'),
  adapter: optionalFile().describe(
    'A module that asks a service of another shape and reads its answers (docs/service.md); null: the one that is built in.',
  ),
  profile: profile.describe(
    'Properties of the service that the specification leaves open; catalogued probe compares them with the live service.',
  ),
}).superRefine(({ select, profile }, context) => {
  const taken = new Map(
    Object.entries(profile?.parameters ?? {}).map(([key, name]) => [name as string, `parameters.${key}`]),
  );
  if (profile?.authorization?.parameter != null) taken.set(profile.authorization.parameter, 'authorization.parameter');
  for (const name of Object.keys(select ?? {})) {
    const key = taken.get(name);
    if (key !== undefined)
      refuse(
        context,
        ['select', name],
        `is a parameter that catalogued sends itself (service.profile.${key}); expected a filter`,
      );
  }
}, always);
