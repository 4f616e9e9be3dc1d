import { describe, expect, it, test } from 'vitest';
import { knownNames } from '../../src/config/json-schema.ts';
import { loadConfig, parseConfig } from '../../src/config/load.ts';
import { left } from '../../src/config/problems.ts';
import { configText, problemsOf } from './check.ts';

const leftNames = Object.keys(left);

test('each value knows whether it comes from the file, the environment or nowhere', () => {
  const text = configText('cadence: { images: 3d, products: 5d }');
  const { config, origin } = parseConfig(text, { CATALOGUED_CADENCE__PRODUCTS: '6d' });
  expect([config.cadence.images, config.cadence.products, config.cadence.variants]).toEqual(
    [3, 6, 7].map((days) => days * 86_400_000),
  );
  expect(['images', 'products', 'variants'].map((name) => origin(`cadence.${name}`))).toEqual([
    'file',
    'environment',
    'default',
  ]);
});

test('the environment alone is a configuration', () => {
  const env = { CATALOGUED_SERVICE__BASE_URL: 'https://api.example.com', CATALOGUED_API_KEY: 'abc' };
  const { config, secrets, file } = loadConfig({ file: null, env });
  expect([config.service.base_url, secrets.api_key?.reveal(), file]).toEqual(['https://api.example.com', 'abc', null]);
});

describe('a variable is read as the kind of value that its key holds', () => {
  const cases: [variable: string, text: string, key: string, expected: unknown][] = [
    ['SERVICE__USER_AGENT', '123', 'service.user_agent', '123'],
    ['SERVICE__USER_AGENT', 'my brand: catalogued', 'service.user_agent', 'my brand: catalogued'],
    ['SERVICE__LANGUAGES', 'en, nl', 'service.languages', ['en', 'nl']],
    ['SERVICE__PROFILE__THROTTLE_STATUSES', '', 'service.profile.throttle_statuses', []],
    ['SERVICE__PROFILE__THROTTLE_STATUSES', '429,420', 'service.profile.throttle_statuses', [429, 420]],
    ['SERVICE__PROFILE__PATHS__EXPERIENCES', 'null', 'service.profile.paths.experiences', null],
    ['SERVICE__SELECT__CITY_ID', '113,114', 'service.select.city_id', [113, 114]],
    ['SERVICE__SELECT__EXCLUDE_PRODUCT_IDS', '7', 'service.select.exclude_product_ids', [7]],
    ['BUDGET__REQUESTS_PER_SECOND', '2.5', 'budget.requests_per_second', 2.5],
    ['MIRROR__COMMISSION', 'true', 'mirror.commission', true],
    ['BACKUP__AT', '0 */6 * * *', 'backup.at', '0 */6 * * *'],
    ['SNAPSHOT__EVERY', '', 'snapshot.every', null],
  ];
  test.each(cases)('%s=%s', (variable, text, key, expected) => {
    const { config, origin } = parseConfig(configText(''), { [`CATALOGUED_${variable}`]: text });
    const value = key.split('.').reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], config);
    expect(value).toEqual(expected);
    expect(origin(key)).toBe('environment');
  });
});

describe('a variable that is wrong is a problem with its name', () => {
  const cases: [title: string, env: Record<string, string>, expected: string][] = [
    [
      'misspelt',
      { CATALOGUED_LOG__LEVL: 'info' },
      'CATALOGUED_LOG__LEVL: unknown variable; did you mean CATALOGUED_LOG__LEVEL?',
    ],
    [
      'of nobody',
      { CATALOGUED_ZEBRA: '1' },
      'CATALOGUED_ZEBRA: unknown variable; expected CATALOGUED_ and a key in upper case, with __ for each dot',
    ],
    [
      'with one underscore',
      { CATALOGUED_SERVICE_BASE_URL: 'x' },
      'CATALOGUED_SERVICE_BASE_URL: unknown variable; did you mean CATALOGUED_SERVICE__BASE_URL?',
    ],
    [
      'of a bad value',
      { CATALOGUED_LOG__LEVEL: 'loud' },
      'CATALOGUED_LOG__LEVEL: found "loud"; expected one of trace, debug, info, warn, error, fatal, silent',
    ],
    [
      'of a bad value in a list',
      { CATALOGUED_SERVICE__LANGUAGES: 'en,EN' },
      'CATALOGUED_SERVICE__LANGUAGES: found "EN"; expected a language code of two lower case letters, like en',
    ],
    [
      'empty where text is needed',
      { CATALOGUED_SERVICE__BASE_URL: '' },
      'CATALOGUED_SERVICE__BASE_URL: found ""; expected the address of the service, like https://api.example.com',
    ],
    [
      'for a list of sections',
      { CATALOGUED_SUBSCRIPTIONS: '[]' },
      'CATALOGUED_SUBSCRIPTIONS: subscriptions cannot be set by a variable; expected it in the file',
    ],
  ];
  test.each(cases)('%s', (_, env, expected) => {
    expect(problemsOf(configText(''), env)).toEqual([expected]);
  });
});

test('the problems of the file come first, then those of the environment', () => {
  const problems = problemsOf(configText('log: { level: loud }'), {
    CATALOGUED_ZEBRA: '1',
    CATALOGUED_CADENCE__IMAGES: '15d',
  });
  expect(problems.map((each) => each.slice(0, 16))).toEqual([
    'line 2: log.leve',
    'CATALOGUED_CADEN',
    'CATALOGUED_ZEBRA',
  ]);
});

test('a bad value from the environment is not blamed on the file', () => {
  const problems = problemsOf(configText('log: { level: info }'), { CATALOGUED_LOG__LEVEL: 'loud' });
  expect(problems).toEqual([expect.stringMatching(/^CATALOGUED_LOG__LEVEL: found "loud"/)]);
});

describe('a key that has left the file', () => {
  it.each<[text: string, line: string]>([
    ['backup: { every: 6h }', 'backup.every: is backup.at since 1.0, a pattern like "0 3 * * *"'],
    ['budget: { lanes: { near: 0.5 } }', 'budget.lanes: is a constant since 1.0: near 30 %, far 10 %, weekly 10 %'],
    ['budget: { times: 5 }', 'budget.times: is a constant since 1.0: 5 times what the cadences need'],
    ['leadership: { lease: 9s }', 'leadership: is a constant since 1.0: a lease of 5 s, renewed every 1 s'],
    ['mirror: { inbox_path: ./inbox.db }', 'mirror.inbox_path: is inbox.db in mirror.state_dir since 1.0'],
    ['removals: { hold_share: 0.1 }', 'removals: is held since 1.0'],
  ])('is one line that says what it is now: %s', (text, line) => {
    const problems = problemsOf(configText(text));
    expect(problems).toEqual([expect.stringMatching(/^line 2: /)]);
    expect(problems[0]?.slice('line 2: '.length)).toBe(line);
  });

  it('is the same line for a variable', () => {
    expect(
      problemsOf(configText(''), { CATALOGUED_BUDGET__LANES__NEAR: '0.5', CATALOGUED_MIRROR__INBOX_PATH: 'a' }),
    ).toEqual([
      'CATALOGUED_BUDGET__LANES__NEAR: is a constant since 1.0: near 30 %, far 10 %, weekly 10 %',
      'CATALOGUED_MIRROR__INBOX_PATH: is inbox.db in mirror.state_dir since 1.0',
    ]);
  });

  it('is no key of the file, and a key beside it is unknown as ever (control)', () => {
    const known = new Set(knownNames());
    expect(leftNames.filter((name) => known.has(name))).toEqual([]);
    expect(leftNames.length).toBeGreaterThan(10);
    expect(problemsOf(configText('budget: { lane: 1 }'))).toEqual([
      'line 2: budget.lane: unknown key; expected no such key here',
    ]);
  });
});
