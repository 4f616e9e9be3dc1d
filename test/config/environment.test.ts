import { describe, expect, it, test } from 'vitest';
import { configPath, loadConfig, parseConfig } from '../../src/config/load.ts';
import { configText, problemsOf } from './check.ts';

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
    ['SERVICE__PROFILE__BURST_STATUSES', '', 'service.profile.burst_statuses', []],
    ['SERVICE__PROFILE__BURST_STATUSES', '403,418', 'service.profile.burst_statuses', [403, 418]],
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

test('the file is the one of --config, else of CATALOGUED_CONFIG, else in the working directory', () => {
  const env = { CATALOGUED_CONFIG: 'variable.yaml' };
  expect([configPath('option.yaml', env), configPath(undefined, env)]).toEqual(['option.yaml', 'variable.yaml']);
  expect(configPath(undefined, {})).toMatch(/catalogued\.yaml$/);
});

describe('a key that has left', () => {
  it.each<[string, string, string]>([
    ['backup: { every: 6h }', 'backup.at', '0 */6 * * *'],
    ['backup: { every: 24h }', 'backup.at', '0 3 */1 * *'],
    ['backup: { every: 90m }', 'backup.at', '0 */2 * * *'],
  ])('is understood, with a warning that names what to write: %s', (text, key, value) => {
    const { config, warnings } = parseConfig(`service: { base_url: http://127.0.0.1 }\n${text}`);
    expect(config.backup.at).toBe(value);
    expect(warnings.filter((warning) => warning.includes('former key'))).toEqual([
      expect.stringContaining(`write ${key}: "${value}"`),
    ]);
  });

  it('has no warning where it is not written (control)', () => {
    const { warnings } = parseConfig('service: { base_url: http://127.0.0.1 }');
    expect(warnings.filter((warning) => warning.includes('former key'))).toEqual([]);
  });
});
