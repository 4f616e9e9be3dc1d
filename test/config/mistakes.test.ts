import { linkSync, mkdirSync, mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig, loadWholeConfig, parseConfig } from '../../src/config/load.ts';
import { parseDuration, parseSize, printDuration, printSize } from '../../src/config/units.ts';
import { thorough } from '../fakes/thorough.ts';
import { configText, problemsOf, refusalOf } from './check.ts';

const fixture = new URL('../fixtures/ten-mistakes.yaml', import.meta.url).pathname;

test('every mistake of the fixture is marked in it, on the line that is named', () => {
  const marked = readFileSync(fixture, 'utf8')
    .split('\n')
    .flatMap((line, index) => (/# \d+: /.test(line) ? [index + 1] : []));
  const named = refusalOf(() => loadConfig({ file: fixture, env: {} }))?.details.map((line) =>
    Number(/\d+/.exec(line)),
  );
  expect(named).toEqual(marked);
});

describe('one mistake is one line', () => {
  const cases: [title: string, text: string, expected: string][] = [
    // The address of the service.
    ['no service at all', 'log: { level: info }', 'service.base_url: is required; expected the address'],
    ['an empty file', '', 'service.base_url: is required'],
    ['an empty section', 'service:\n', 'line 1: service.base_url: is required'],
    [
      'an address of another scheme',
      'service: { base_url: ftp://api.example.com }',
      'expected the address of the service',
    ],
    [
      'an address without a scheme',
      'service: { base_url: api.example.com }',
      'found "api.example.com"; expected the address',
    ],
    ['a query in the address', 'service: { base_url: "https://api.example.com/?a=1" }', 'has more than a host'],
    ['a fragment in the address', 'service: { base_url: "https://api.example.com/#" }', 'has more than a host'],
    // What is tied to a wall clock.
    [
      'a pattern that is none',
      configText('maintenance: { at: 25 4 * * }'),
      'line 2: maintenance.at: found "25 4 * *"; expected a cron pattern of five fields, like "0 4 * * *"',
    ],
    [
      'a pattern that never comes',
      configText('maintenance: { at: "0 4 30 2 *" }'),
      'line 2: maintenance.at: "0 4 30 2 *" never matches a date; expected a cron pattern of five fields',
    ],
    [
      'a time that is none',
      configText('maintenance: { at: 04:00 }'),
      'maintenance.at: found "04:00"; expected a cron pattern of five fields',
    ],
    [
      'a time zone that nobody knows',
      configText('maintenance: { zone: Europe/Nowhere }'),
      'line 2: maintenance.zone: found "Europe/Nowhere"; expected a time zone like Europe/Amsterdam, or UTC',
    ],
    ['an offset for a time zone', configText('maintenance: { zone: "+02:00" }'), 'maintenance.zone: found "+02:00"'],
    // The storefront's own door.
    [
      'a door at an address that is taken by another',
      configText('storefront: { listen: 127.0.0.1:8480 }'),
      'line 2: storefront.listen: "127.0.0.1:8480" is the same as receiver.listen; expected an address of its own',
    ],
    [
      'a door at the socket of another, written otherwise',
      configText('storefront: { listen: "unix:data/state/../state/admin.sock" }'),
      'is the same as admin.listen (unix:data/state/admin.sock); expected an address of its own',
    ],
    [
      'a door where no storefront can get to',
      configText('storefront: { listen: "unix:./data/state/storefront.sock" }'),
      'is in mirror.state_dir, which nobody else can enter; expected a directory for storefronts',
    ],
    [
      'a door without an address',
      configText('storefront: { listen: storefront }'),
      'line 2: storefront.listen: found "storefront"; expected unix:PATH or HOST:PORT',
    ],
    [
      'an origin with a path',
      configText('storefront: { public_key: pk-0123456789abcdef, origins: ["https://shop.example/"] }'),
      'found "https://shop.example/"; expected an origin without a path, like https://shop.example',
    ],
    [
      'any origin',
      configText('storefront: { public_key: pk-0123456789abcdef, origins: ["*"] }'),
      'found "*"; expected an origin without a path, like https://shop.example',
    ],
    [
      'origins whose pages have no key',
      configText('storefront: { origins: ["https://shop.example"] }'),
      'storefront.public_key: is needed by origins; expected a key',
    ],
    [
      'a public key that anybody could guess',
      configText('storefront: { public_key: shop }'),
      'storefront.public_key: found "shop"; expected 16 characters or more, without spaces, or null',
    ],
    [
      'two listeners on one port',
      configText('admin: { listen: "localhost:8480", token_file: a }'),
      'line 2: admin.listen: "localhost:8480" is the same as receiver.listen (127.0.0.1:8480); expected an address of its own',
    ],
    [
      'a listener on every address, and another on its port',
      configText('receiver: { listen: "0.0.0.0:8482" }\nstorefront: { listen: "127.0.0.1:8482" }'),
      'line 3: storefront.listen: "127.0.0.1:8482" is the same as receiver.listen (0.0.0.0:8482)',
    ],
    // Kinds of value.
    [
      'a duration without a unit',
      configText('cadence: { products: 7 }'),
      'line 2: cadence.products: found 7; expected a duration like 90s, 6h or 7d',
    ],
    ['a duration of another language', configText('cadence: { products: P7D }'), 'found "P7D"; expected a duration'],
    ['a negative duration', configText('cadence: { products: -7d }'), 'found "-7d"; expected a duration'],
    [
      'a duration of nothing',
      configText('cadence: { availability: { near: { every: 0s } } }'),
      '"0s" is too short; expected at least 1m',
    ],
    [
      'images a second beyond the hard limit',
      configText('cadence: { images: 1209601s }'),
      'is longer than the hard limit; expected at most 14d',
    ],
    ['covered products beyond a month', configText('cadence: { covered: { variants: 29d } }'), 'expected at most 28d'],
    ['a size without a unit', configText('images: { disk: 20MB }'), 'found "20MB"; expected a size like 20MiB'],
    ['a size of nothing', configText('images: { disk: 0MiB }'), '"0MiB" is out of range'],
    ['yes for true', configText('images: { files: yes }'), 'found "yes"; expected true or false'],
    [
      'a number that is none',
      configText('budget: { requests_per_second: .nan }'),
      'found NaN; expected a number of calls a second',
    ],
    ['an infinite rate', configText('budget: { requests_per_second: .inf }'), 'expected a number of calls a second'],
    [
      'a fraction of a call at a time',
      configText('budget: { concurrency: 1.5 }'),
      'expected a whole number from 1 to 64',
    ],
    [
      'a value where a section belongs',
      configText('cadence: 7d'),
      'line 2: cadence: found "7d"; expected keys and values',
    ],
    [
      'nothing where a section belongs',
      configText('cadence:\n'),
      'line 2: cadence: found nothing; expected keys and values',
    ],
    ['a list as the whole file', '- 1\n- 2\n', 'the file: found a list; expected keys and values'],
    ['text as the whole file, which may be a secret', 'hello', 'the file: found text; expected keys and values'],
    // Lists.
    [
      'one language that is no list',
      'service: { base_url: https://a.example, languages: en }',
      'service.languages: found "en"; expected a list of at least one language',
    ],
    [
      'no language',
      'service: { base_url: https://a.example, languages: [] }',
      'service.languages[0]: is required; expected a language code',
    ],
    [
      'a language twice',
      'service: { base_url: https://a.example, languages: [en, nl, en] }',
      'expected each language once',
    ],
    ['a language with a region', 'service: { base_url: https://a.example, languages: [en-GB] }', 'found "en-GB"'],
    [
      'a currency that ISO 4217 does not list',
      'service: { base_url: https://a.example, currencies: [XYZ] }',
      'found "XYZ"; expected an ISO 4217',
    ],
    ['a currency in lower case', 'service: { base_url: https://a.example, currencies: [eur] }', 'found "eur"'],
    // What belongs together.
    [
      'a middle tier beyond the horizon',
      configText('cadence: { availability: { horizon: 30 } }'),
      'line 2: cadence.availability.middle.days: is beyond the horizon; expected at most 30',
    ],
    [
      'tiers of the same length',
      configText('cadence: { availability: { near: { days: 31 } } }'),
      'expected fewer than middle.days (31)',
    ],
    [
      'a horizon beyond a year',
      configText('cadence: { availability: { horizon: 366 } }'),
      'found 366; expected a whole number from 1 to 365',
    ],
    [
      'a guard that is none',
      configText('held: { less: yes }'),
      'held.less: found "yes"; expected one of hold, warn, off',
    ],
    ['the section that held replaces', configText('removals: { hold_share: 0.1 }'), 'removals: is held since 1.0'],
    [
      'state among the files of storefronts',
      configText('mirror: { path: state/mirror.db, state_dir: state/ }'),
      'mirror.state_dir: "state/" is the mirror\'s directory',
    ],
    [
      'a snapshot without a place',
      configText('snapshot: { every: 1h }'),
      'snapshot.path: is required with snapshot.every',
    ],
    [
      'a snapshot over the mirror',
      configText('snapshot: { every: 1h, path: data/../data/mirror.db }'),
      'snapshot.path: "data/../data/mirror.db" is the mirror itself; expected another file',
    ],
    [
      'a snapshot among the mirror’s own files',
      configText('snapshot: { every: 1h, path: data/mirror.db-wal }'),
      'is the mirror itself',
    ],
    [
      'a snapshot in the state directory',
      configText('snapshot: { every: 1h, path: data/state/copy/mirror.db }'),
      'snapshot.path: "data/state/copy/mirror.db" is in mirror.state_dir',
    ],
    [
      'a snapshot among the backups',
      configText('snapshot: { every: 1h, path: ./data/copies/mirror.db }\nbackup: { directory: ./data/copies }'),
      'is in backup.directory',
    ],
    [
      'a snapshot among the image files',
      configText('snapshot: { every: 1h, path: data/images/mirror.db }'),
      'is in images.directory',
    ],
    // The profile.
    [
      'no product list',
      configText('').replace(' }', ', profile: { paths: { products: null } } }'),
      'service.profile.paths.products: found nothing; expected a path',
    ],
    [
      'no availability',
      configText('').replace(' }', ', profile: { paths: { availability: null } } }'),
      'service.profile.paths.availability: found nothing',
    ],
    [
      'a path without its product',
      configText('').replace(' }', ', profile: { paths: { product: /v2/products } } }'),
      'expected {product_id} in it',
    ],
    [
      'pages that the service refuses',
      configText('').replace(' }', ', profile: { page_size: 101 } }'),
      'found 101; expected a whole number from 1 to 100',
    ],
    [
      'a status that is no error',
      configText('').replace(' }', ', profile: { throttle_statuses: [200] } }'),
      'throttle_statuses[0]: found 200; expected an HTTP status from 400 to 599',
    ],
    [
      'a header with a line break',
      configText('').replace(' }', ', user_agent: "a\\r\\nb: c" }'),
      'service.user_agent: found "a\\r\\nb: c"; expected letters',
    ],
    [
      'a filter that is ours to set',
      configText('').replace(' }', ', select: { page: 2 } }'),
      'service.select.page: 2 is a parameter that catalogued sends itself',
    ],
    [
      'an exclusion that would be sent as a filter',
      configText('').replace(' }', ', select: { exclude_product_id: [2] } }'),
      'did you mean exclude_product_ids?',
    ],
    // Notifications.
    [
      'a subscription without its products',
      configText('subscriptions: [{ id: a, type: product_ids }]'),
      'subscriptions[0].entities: is required with product_ids',
    ],
    [
      'a subscription of an unknown type',
      configText('subscriptions: [{ id: a, type: all, entities: mirrored }]'),
      'subscriptions[0].type: found "all"; expected one of product_ids',
    ],
    [
      'a subscription twice',
      configText('subscriptions: [{ id: a, type: products_i_sell }, { id: a, type: products_i_sell }]'),
      'line 2: subscriptions[1].id: "a" is also the id of entry 1; expected each id once',
    ],
    [
      'a key misspelt in a list',
      configText('subscriptions: [{ id: a, type: products_i_sell, change_type: [] }]'),
      'did you mean subscriptions[].change_types?',
    ],
    [
      'ids narrowed to a city',
      configText('subscriptions: [{ id: a, type: product_ids, entities: [1], city_ids: [2] }]'),
      'subscriptions[0].city_ids: narrows what is mirrored; expected it with entities: mirrored only',
    ],
    [
      'sales narrowed to a country',
      configText('subscriptions: [{ id: a, type: products_i_sell, country_ids: [7] }]'),
      'subscriptions[0].country_ids: narrows what is mirrored',
    ],
    [
      'a category that there is none of',
      configText('subscriptions: [{ id: a, type: product_ids, entities: mirrored, categories: [top] }]'),
      'subscriptions[0].categories[0]: "top" is no category; expected the name of one in categories',
    ],
    [
      'a network of 33 bits',
      configText('receiver: { allow: [192.0.2.0/33] }'),
      'receiver.allow[0]: found "192.0.2.0/33"; expected an IP address',
    ],
    ['a receiver without a port', configText('receiver: { listen: localhost }'), 'expected unix:PATH or HOST:PORT'],
    ['a port that is none', configText('receiver: { listen: "127.0.0.1:70000" }'), 'has a port above 65535'],
    [
      'a category that matches everything',
      configText('categories: [{ name: all, match: {} }]'),
      'categories[0].match: matches everything',
    ],
    [
      'a category that loosens the hard limit',
      configText('categories: [{ name: a, match: { city_ids: [1] }, cadence: { images: 15d } }]'),
      'is longer than the hard limit; expected at most 14d',
    ],
    // Names.
    [
      'a section misspelt',
      configText('cadense: { products: 7d }'),
      'line 2: cadense: unknown key; did you mean cadence?',
    ],
    [
      'a key in the wrong section',
      configText('languages: [en]'),
      'line 2: languages: unknown key; did you mean service.languages?',
    ],
    ['a key of nobody', configText('zebra: 1'), 'line 2: zebra: unknown key; expected no such key here'],
    ['a key that JavaScript knows', configText('__proto__: { polluted: true }'), 'line 2: __proto__: unknown key'],
    ['another key that JavaScript knows', configText('constructor: 1'), 'line 2: constructor: unknown key'],
    [
      'a signing key as a value',
      configText('signing: { key: abc }'),
      'signing.key: a secret is never a value in this file; expected the name of its file in signing.key_file',
    ],
    ['a token as a value', configText('admin: { token: abc }'), 'in admin.token_file'],
    ['a receiver secret as a value', configText('receiver: { secret: abc }'), 'in receiver.secret_file'],
    // YAML.
    [
      'a key twice',
      configText('cadence:\n  images: 7d\n  images: 3d\n'),
      'line 4: images: appears twice in the same section; expected it once',
    ],
    [
      'tabs',
      configText('cadence:\n\timages: 7d\n'),
      'line 3: not readable as YAML: tabs are not allowed as indentation',
    ],
    ['a bracket left open', configText('cadence: { images: 7d\nlog: {}\n'), 'not readable as YAML'],
    ['two documents', `${configText('')}---\n${configText('')}`, 'line 2: not readable as YAML'],
    ['an alias of nothing', configText('log: *nothing\n'), 'not readable as YAML: unresolved alias'],
    [
      'a tag that nobody knows',
      configText('log: !include other.yaml\n'),
      'line 2: not readable as YAML: unresolved tag',
    ],
    ['an alias bomb', bomb(), 'not readable as YAML: excessive alias count'],
    ['nesting without end', '['.repeat(100_000), 'not readable as YAML'],
    ['a file larger than any configuration', `#${'x'.repeat(1024 * 1024)}`, 'larger than 1 MiB'],
  ];
  test.each(cases)('%s', (_, text, expected) => {
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(expected);
  });
});

function bomb(): string {
  const levels = Array.from(
    { length: 12 },
    (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level}, `.repeat(9)}1]`,
  );
  return `l0: &l0 [1]\n${levels.join('\n')}\n`;
}

test('a password in the address of the service is not repeated', () => {
  const [problem] = problemsOf('service: { base_url: "https://user:hunter2@api.example.com" }');
  expect(problem).toContain('has credentials in it');
  expect(problem).not.toMatch(/hunter2|user/);
});

test('a secret that stands in the file is not repeated', () => {
  const secrets = configText('admin: { token: hunter2 }\nsigning: { key: hunter2 }').replace(
    ' }',
    ', api_key: hunter2 }',
  );
  expect(problemsOf(secrets)).toHaveLength(3);
  expect(problemsOf(secrets).join()).not.toContain('hunter2');
});

describe('two names of one file are one file', () => {
  const cases: [title: string, link: (at: string) => void, text: (at: string) => string, expected: string][] = [
    [
      'the inbox, a link to the mirror that is still to come',
      (at) => symlinkSync('../data/mirror.db', join(at, 'state/inbox.db')),
      (at) => `mirror: { path: ${at}/data/mirror.db, state_dir: ${at}/state }`,
      'mirror.db" is inbox.db in mirror.state_dir; expected a file of its own',
    ],
    [
      'the inbox, a hard link of the mirror',
      (at) => {
        writeFileSync(join(at, 'data/mirror.db'), '');
        linkSync(join(at, 'data/mirror.db'), join(at, 'state/inbox.db'));
      },
      (at) => `mirror: { path: ${at}/data/mirror.db, state_dir: ${at}/state }`,
      'is inbox.db in mirror.state_dir',
    ],
    [
      'the state directory, a link to that of the mirror',
      (at) => symlinkSync('data', join(at, 'private')),
      (at) => `mirror: { path: ${at}/data/mirror.db, state_dir: ${at}/private }`,
      'mirror.state_dir: ',
    ],
    [
      'the snapshot, a link to the mirror',
      (at) => symlinkSync(join(at, 'data/mirror.db'), join(at, 'copy.db')),
      (at) =>
        `mirror: { path: ${at}/data/mirror.db, state_dir: ${at}/state }\nsnapshot: { every: 1h, path: ${at}/copy.db }`,
      'copy.db" is the mirror itself; expected another file',
    ],
    [
      'the admin socket, a link to that of storefronts',
      (at) => symlinkSync('admin.sock', join(at, 'data/shop.sock')),
      (at) => `admin: { listen: "unix:${at}/data/admin.sock" }\nstorefront: { listen: "unix:${at}/data/shop.sock" }`,
      'is the same as admin.listen',
    ],
  ];
  test.each(cases)('%s', (_, link, text, expected) => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'catalogued-names-'));
    for (const name of ['data', 'state']) mkdirSync(join(directory.path, name));
    link(directory.path);
    const problems = problemsOf(configText(text(directory.path)));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(expected);
  });

  test('a link that leads nowhere, or to itself, is another file', () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'catalogued-names-'));
    const at = directory.path;
    mkdirSync(join(at, 'state'));
    symlinkSync('inbox.db', join(at, 'state/inbox.db'));
    expect(problemsOf(configText(`mirror: { path: ${at}/data/mirror.db, state_dir: ${at}/state }`))).toEqual([]);
  });
});

test('problems of values, rules over several keys and secrets are reported together, each with its line', () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'catalogued-together-'));
  const [file, readable] = [join(directory.path, 'catalogued.yaml'), join(directory.path, 'secret')];
  writeFileSync(readable, 'k'.repeat(40), { mode: 0o644 });
  writeFileSync(
    file,
    `service:
  base_url: https://api.example.com
  api_key_file: ${readable}
admin: { listen: "127.0.0.1:8480" }
storefront: { listen: "0.0.0.0:8481" }
receiver:
  public_url: https://hooks.example.com
subscriptions:
  - { id: a, type: products_i_sell }
  - { id: a, type: products_i_sell, change_types: [closed] }
log: { level: loud }
`,
  );
  const refusal = refusalOf(() => loadWholeConfig({ file, env: {} }));
  expect(refusal).toMatchObject({
    exitCode: 78,
    code: 'configuration',
    hint: expect.stringContaining('fix the problems'),
  });
  expect(refusal?.details).toEqual([
    `line 3: service.api_key_file: others have access to ${readable} (mode 0644) (chmod 0600 ${readable})`,
    'line 4: admin.listen: "127.0.0.1:8480" is the same as receiver.listen; expected an address of its own',
    'line 4: admin.listen is 127.0.0.1:8480, and there is no admin token (set admin.token_file to a file with mode 0600, or listen on a unix socket)',
    'line 5: storefront.listen is 0.0.0.0:8481, and there is no storefront token (set storefront.token_file to a file with mode 0600, or listen on a unix socket)',
    'line 7: receiver.public_url is set, and there is no receiver secret (openssl rand -hex 32, into a file with mode 0600 that receiver.secret_file names)',
    'line 8: subscriptions are declared, and there is no signing key (openssl genrsa -out signing.pem 3072, name the file in signing.key_file, and give the service its public key)',
    'line 10: subscriptions[1].change_types[0]: found "closed"; expected one of checkout_disabled, checkout_enabled, product_details_update',
    'line 10: subscriptions[1].id: "a" is also the id of entry 1; expected each id once',
    'line 11: log.level: found "loud"; expected one of trace, debug, info, warn, error, fatal, silent',
  ]);
});

test('one missing secret is an error of its own, with what to do', () => {
  const env = { CATALOGUED_API_KEY: 'k', CATALOGUED_SERVICE__BASE_URL: 'https://api.example.com' };
  const load = (more: Record<string, string>) => () => loadWholeConfig({ file: null, env: { ...env, ...more } });
  const public_url = { CATALOGUED_RECEIVER__PUBLIC_URL: 'https://hooks.example.com' };
  expect(refusalOf(load(public_url))).toMatchObject({
    exitCode: 78,
    message: 'receiver.public_url is set, and there is no receiver secret',
    hint: expect.stringContaining('openssl rand -hex 32'),
  });
  expect(refusalOf(load({ ...public_url, CATALOGUED_RECEIVER_SECRET: 'k'.repeat(32) }))).toBeNull();
  expect(refusalOf(load({}))).toBeNull();
});

test('a token that is also the public key is refused, as every page would have it', () => {
  const env = { CATALOGUED_API_KEY: 'k', CATALOGUED_SERVICE__BASE_URL: 'https://api.example.com' };
  const load = (public_key: string) => () =>
    loadWholeConfig({
      file: null,
      env: { ...env, CATALOGUED_STOREFRONT_TOKEN: 't'.repeat(32), CATALOGUED_STOREFRONT__PUBLIC_KEY: public_key },
    });
  expect(refusalOf(load('t'.repeat(32)))).toMatchObject({ exitCode: 78, message: 'the public key is a token' });
  expect(refusalOf(load('p'.repeat(32)))).toBeNull();
});

test('a key that stands twice does not hide the other mistakes', () => {
  const problems = problemsOf(configText('log:\n  level: info\n  level: loud\ncadence: { images: 15d }'));
  expect(problems.map((each) => each.split(': ')[0])).toEqual(['line 4', 'line 4', 'line 5']);
});

test('a rule over two keys is checked although another key beside them is wrong', () => {
  expect(problemsOf(configText('mirror: { path: a/b, state_dir: a, comission: true }'))).toHaveLength(2);
});

test('whatever a file holds, the answer is a configuration or problems, and never a bug', () => {
  const names = fc.constantFrom(
    'service',
    'cadence',
    'budget',
    'lanes',
    'mirror',
    'availability',
    'near',
    'subscriptions',
    'categories',
    'select',
    'snapshot',
    'match',
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(names, tie('any'), { maxKeys: 4 }),
    ),
  })).any;
  fc.assert(
    fc.property(fc.dictionary(names, value), (input) => {
      expect(refusalOf(() => parseConfig(stringify(input)))?.exitCode ?? 78).toBe(78);
    }),
    { numRuns: thorough ? 100 : 25 },
  );
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'a:-[]{}&*!|>#"\'\n\t ?,%@<'), maxLength: 40 }), (text) => {
      expect(refusalOf(() => parseConfig(text))?.exitCode).toBe(78);
    }),
  );
});

test('a missing file says where it was looked for and what to do', () => {
  const refusal = refusalOf(() => loadConfig({ file: '/nowhere/catalogued.yaml', env: {} }));
  expect(refusal).toMatchObject({ exitCode: 78, message: 'there is no configuration at /nowhere/catalogued.yaml' });
  expect(refusal?.hint).toContain('--config FILE');
  expect(refusalOf(() => loadConfig({ file: import.meta.dirname, env: {} }))).toMatchObject({
    exitCode: 78,
    message: expect.stringContaining('EISDIR'),
  });
});

describe('what is allowed and unusual is a warning', () => {
  const cases: [title: string, text: string, expected: string | null][] = [
    [
      'an address without encryption',
      'service: { base_url: http://api.example.com }',
      'service.base_url is http://api.example.com: the key goes over the network unencrypted',
    ],
    ['not one on this machine', 'service: { base_url: http://127.0.0.1:9000 }', null],
    ['nor by its name', 'service: { base_url: http://localhost:9000 }', null],
    ['nor by its IPv6 address', 'service: { base_url: "http://[::1]:9000" }', null],
    [
      'a near tier slower than the middle one',
      configText('cadence: { availability: { near: { every: 13h } } }'),
      'cadence.availability.near.every (13h) is slower than cadence.availability.middle.every (12h): is that intended?',
    ],
    [
      'images confirmed at the last moment',
      configText('cadence: { images: 14d }'),
      'cadence.images is 14d: images are hidden after 14 days, so few days remain to retry a failed confirmation',
    ],
    [
      'subscriptions that nothing can reach',
      configText('subscriptions: [{ id: a, type: products_i_sell }]\nsigning: { body: json }'),
      'subscriptions are declared, and receiver.public_url is not set: nothing can be delivered',
    ],
    [
      'the leader on another host without encryption',
      configText('instance: { advertise: "http://host-a.example.com:8490" }'),
      'instance.advertise is http://host-a.example.com:8490: the admin token goes over the network unencrypted; use https, through a proxy on this host',
    ],
    ['the leader on this host', configText('instance: { advertise: "http://127.0.0.1:8490" }'), null],
    [
      'a category that is hardly ever read',
      configText(
        'categories: [{ name: a, match: { city_ids: [1] }, cadence: { availability: { near: { every: 7d } } } }]',
      ),
      'categories[0].cadence.availability.near.every is 7d: the service recommends several times a day for the next two weeks',
    ],
    ['nothing unusual', configText(''), null],
  ];
  test.each(cases)('%s', (_, text, expected) => {
    const { warnings } = parseConfig(text);
    // Said of each of these; a case of its own below.
    const others = warnings.filter((warning) => !warning.startsWith('service.user_agent'));
    expect(others).toEqual(expected === null ? [] : [expected]);
  });

  test('28 days everywhere, key by key with the recommendation', () => {
    const text = configText(`cadence:
  { products: 28d, checkout_information: 28d, variants: 28d, experiences: 28d,
    dynamic_pricing: { products: 28d, checkout_information: 28d },
    availability: { near: { every: 28d }, middle: { every: 28d }, far: { every: 28d } } }`);
    expect(parseConfig(text).warnings.filter((warning) => warning.includes('recommends'))).toEqual([
      'cadence.products is 28d: the service recommends about once a week for the product list',
      'cadence.checkout_information is 28d: the service recommends about once a week for checkout information',
      'cadence.availability.near.every is 28d: the service recommends several times a day for the next two weeks',
      'cadence.availability.middle.every is 28d: the service recommends several times a day for the next two weeks and once or twice a day after a month',
      'cadence.availability.far.every is 28d: the service recommends once or twice a day for dates more than a month ahead',
      'cadence.dynamic_pricing.products is 28d: the service recommends about once a week for products whose prices do not change by the day',
      'cadence.dynamic_pricing.checkout_information is 28d: the service recommends about once a week for products whose prices do not change by the day',
    ]);
  });

  test('the default user agent, and a callback address that the service cannot reach', () => {
    const text = `service: { base_url: https://api.example.com }
receiver: { public_url: 'https://10.0.0.5/hooks' }
`;
    expect(parseConfig(text).warnings).toEqual([
      'service.user_agent is catalogued: the service asks that it contains the name of your brand',
      'receiver.public_url is at 10.0.0.5, which the service cannot reach: nothing can be delivered',
    ]);
    const near = text.replace('https://api.example.com', 'http://127.0.0.1:9000');
    expect(parseConfig(near).warnings).toEqual([]);
  });
});

describe('a duration in milliseconds', () => {
  const cases: [text: string, ms: number | null][] = [
    ['500ms', 500],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['6h', 21_600_000],
    ['7d', 604_800_000],
    ['0s', 0],
    ['007d', 604_800_000],
    ['7', null],
    ['7 d', null],
    ['1.5h', null],
    ['-1h', null],
    ['1h30m', null],
    ['7D', null],
    ['1w', null],
    ['', null],
    ['d', null],
    ['1h\n', null],
    ['9999999999d', null],
  ];
  test.each(cases)('%j is %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

test('any duration survives being printed and read again', () => {
  const shortest = fc.nat({ max: 999_999_999 });
  const unit = fc.constantFrom(1, 1000, 60_000, 3_600_000, 86_400_000);
  fc.assert(
    fc.property(shortest, unit, (count, factor) => {
      expect(parseDuration(printDuration(count * factor))).toBe(count * factor);
    }),
  );
});

test('any size survives being printed and read again', () => {
  fc.assert(
    fc.property(fc.nat({ max: 8_000_000 }), fc.constantFrom(1, 1024, 1024 ** 2, 1024 ** 3), (count, factor) => {
      expect(parseSize(printSize(count * factor))).toBe(count * factor);
    }),
  );
  expect([parseSize('20MiB'), parseSize('20MB'), parseSize('20')]).toEqual([20_971_520, null, null]);
});
