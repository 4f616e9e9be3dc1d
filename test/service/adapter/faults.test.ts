import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../../../src/config/adapter.ts';
import { loadWholeConfig } from '../../../src/config/load.ts';
import type { Question } from '../../../src/service/adapter.rules.ts';
import type { Http, ServiceRequest } from '../../../src/service/http.ts';
import { ServiceAsker } from '../../../src/service/service-asker.ts';
import { refusalOf } from '../../config/check.ts';
import { canary, canaryMark } from '../../fakes/canary.ts';
import { differentHarness } from '../../fakes/different-harness.ts';
import { defaultProfile } from '../../fakes/standard-answers.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

const never = new AbortController().signal;
const list: Question = {
  kind: 'products',
  page: 2,
  after: null,
  page_size: 100,
  language: 'en',
  currency: 'EUR',
  ordered: true,
};

/** Asks through the adapter of a file, over a service that answers `body` with `status`. */
function askerBy(directory: string, text: string, { status = 200, body = '{"products":[]}' } = {}) {
  const file = join(directory, 'adapter.mjs');
  writeFileSync(file, text);
  const sent: ServiceRequest[] = [];
  const http: Http = {
    ask: async (request) => {
      sent.push(request);
      return status >= 400
        ? { kind: 'refused-text', status, text: body }
        : { kind: 'answer', status, text: body, hash: '', bytes: 0, sent_at: 0 as never };
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const key = { reveal: () => canary.key };
  const adapter = loadAdapter(file);
  return {
    sent,
    asker: new ServiceAsker(http, adapter, {
      key,
      profile: defaultProfile,
      select: {},
      signing: 'jwt',
      content_type: 'application/json',
    }),
  };
}

/** What a person sees of a question. */
async function seen(asker: ServiceAsker, question: Question = list): Promise<string> {
  const prepared = asker.prepare(question);
  if (prepared.kind === 'failed') return prepared.message;
  const outcome = await asker.send(prepared, { deadline_ms: 1, max_bytes: 1, signal: never });
  if (outcome.kind !== 'answer') return 'message' in outcome ? outcome.message : outcome.kind;
  try {
    const { rows } = asker.rows(question, outcome);
    return `${rows.length} rows`;
  } catch (error) {
    return asker.undecodable(question, error, outcome.text).message;
  }
}

const request = (returns: string) => `export function request(question, settings, standard) { ${returns} }`;
const answer = (returns: string) => `export function answer(question, status, body, standard) { ${returns} }`;

describe('an adapter that', () => {
  it.each([
    [
      'throws for a request',
      request('return question.nothing.at;'),
      "adapter.mjs: request for products page 2 in en throws TypeError: Cannot read properties of undefined (reading 'at')",
    ],
    [
      'throws for an answer',
      answer('return body.data.map(String);'),
      "adapter.mjs: answer for products page 2 in en throws TypeError: Cannot read properties of undefined (reading 'map')",
    ],
    ['throws what is no error', answer("throw 'no';"), 'adapter.mjs: answer for products page 2 in en throws no'],
    [
      'returns nothing',
      request(''),
      'adapter.mjs: request for products page 2 in en returns nothing; expected an object',
    ],
    [
      'returns nothing for an answer',
      answer('body.products;'),
      'adapter.mjs: answer for products page 2 in en returns nothing; expected an object',
    ],
    [
      'returns a promise',
      answer('return Promise.resolve({ rows: [] });'),
      'adapter.mjs: answer for products page 2 in en returns a promise; expected a value: an adapter cannot wait',
    ],
    [
      'returns a promise that fails',
      request("return Promise.reject(new Error('late'));"),
      'adapter.mjs: request for products page 2 in en returns a promise; expected a value: an adapter cannot wait',
    ],
    [
      'names another host',
      request("return { path: 'https://elsewhere.example/v2/products' };"),
      'adapter.mjs: request for products page 2 in en returns path "https://elsewhere.example/v2/products"; expected one below service.base_url, like /v2/products',
    ],
    [
      'names another host without a scheme',
      request("return { path: '//elsewhere.example/v2' };"),
      'adapter.mjs: request for products page 2 in en returns path "//elsewhere.example/v2"; expected one below service.base_url, like /v2/products',
    ],
    [
      'names another host in a header',
      request("return { path: '/v2', headers: { Host: 'elsewhere.example' } };"),
      'adapter.mjs: request for products page 2 in en returns the header Host; expected it left out: it follows from service.base_url',
    ],
    [
      'has another agent',
      request("return { path: '/v2', headers: { 'User-Agent': 'me' } };"),
      'adapter.mjs: request for products page 2 in en returns the header User-Agent; expected it left out: set service.user_agent',
    ],
    [
      'breaks a header',
      request("return { path: '/v2', headers: { a: 'b\\r\\nc: d' } };"),
      'adapter.mjs: request for products page 2 in en returns the header "a" with a string; expected text that a header can have',
    ],
    [
      'puts the key into the path',
      request("return { path: '/v2/' + settings.key };"),
      'adapter.mjs: request for products page 2 in en has the key in its path; expected it in a header or in query',
    ],
    [
      'has an object for a body',
      request("return { method: 'POST', path: '/v2', body: { page: 2 } };"),
      'adapter.mjs: request for products page 2 in en returns body an object; expected text, like JSON.stringify(…)',
    ],
    [
      'has a body that is not sent',
      request("return { path: '/v2', body: '{}' };"),
      'adapter.mjs: request for products page 2 in en returns a body with method GET; expected another method',
    ],
    [
      'has a query of objects',
      request("return { path: '/v2', query: { page: { at: 2 } } };"),
      'adapter.mjs: request for products page 2 in en returns query an object; expected names with texts, numbers or lists of them',
    ],
    [
      'has another method',
      request("return { method: 'TRACE', path: '/v2' };"),
      'adapter.mjs: request for products page 2 in en returns method "TRACE"; expected GET, POST, PUT, PATCH, DELETE',
    ],
    [
      'signs with another algorithm',
      request("return { method: 'POST', path: '/v2', sign: { payload: {}, algorithm: 'none' } };"),
      'adapter.mjs: request for products page 2 in en returns sign an object; expected { payload, algorithm }, with RS256 or PS256',
    ],
    [
      'returns other members',
      answer('return { data: [] };'),
      'adapter.mjs: answer for products page 2 in en returns members: data; expected rows, refused or unusable',
    ],
    [
      'returns rows that are no list',
      answer("return { rows: 'none' };"),
      'adapter.mjs: answer for products page 2 in en returns rows a string; expected a list',
    ],
    [
      'returns a row for a list',
      answer('return { row: {} };'),
      'adapter.mjs: answer for products page 2 in en returns row; expected rows',
    ],
    [
      'returns a page number as next',
      answer('return { rows: [], next: 3 };'),
      'adapter.mjs: answer for products page 2 in en returns next a number; expected text, null at the end, or nothing',
    ],
    [
      'returns a total that is a text',
      answer("return { rows: [], total: '12' };"),
      'adapter.mjs: answer for products page 2 in en returns total a string; expected a number',
    ],
    [
      'returns a refusal that is a text',
      answer("return { refused: 'no' };"),
      'adapter.mjs: answer for products page 2 in en returns refused a string; expected an object',
    ],
    [
      'refuses with 200',
      answer('return { refused: { status: 200 } };'),
      'adapter.mjs: answer for products page 2 in en returns refused.status a number; expected a status from 400 to 599',
    ],
    [
      'cannot use an answer',
      answer("return { unusable: 'a page of advertisements' };"),
      'adapter.mjs, products page 2 in en: a page of advertisements',
    ],
  ])('%s fails the record in one line', async (_, text, says) => {
    using directory = temporaryDirectory();
    expect(await seen(askerBy(directory.path, text).asker)).toBe(says);
  });

  it('exports one function leaves the other to the built-in adapter (control)', async () => {
    using directory = temporaryDirectory();
    const { asker, sent } = askerBy(directory.path, request("return { path: '/v3/list' };"));
    expect(await seen(asker)).toBe('0 rows');
    expect(sent).toEqual([{ method: 'GET', path: '/v3/list', query: {}, headers: {}, body: null }]);
  });

  it.each([
    [
      'throws',
      'body.data.length;',
      'No product 7 here. (adapter.mjs: answer for variants 7 throws TypeError: Cannot read',
    ],
    [
      'returns rows',
      'return { rows: [] };',
      'No product 7 here. (adapter.mjs: answer for variants 7 returns rows for status 404; expected refused)',
    ],
    ['says it itself', "return { refused: { code: 'gone', message: 'It is gone.' } };", 'It is gone.'],
  ])('%s where the service says no leaves the status as it is', async (_, returns, says) => {
    using directory = temporaryDirectory();
    const body = JSON.stringify({ error_code: 'not_found', message: 'No product 7 here.' });
    const { asker } = askerBy(directory.path, answer(returns), { status: 404, body });
    const prepared = asker.prepare({ kind: 'variants', product_id: 7, language: 'en' });
    if (prepared.kind === 'failed') throw new Error(prepared.message);
    const outcome = await asker.send(prepared, { deadline_ms: 1, max_bytes: 1, signal: never });
    expect(outcome).toMatchObject({ kind: 'refused', status: 404, message: expect.stringContaining(says) });
  });

  it('is never given the key, and cannot change the configuration', async () => {
    using directory = temporaryDirectory();
    const text = request("settings.profile.paths.products = '/'; return { path: '/v2' };");
    expect(await seen(askerBy(directory.path, text).asker)).toContain('throws TypeError: Cannot assign to read only');
    const told = askerBy(directory.path, request('throw new Error(settings.key + JSON.stringify(settings).length);'));
    const says = await seen(told.asker);
    expect(says).toMatch(/throws Error: {api_key}\d+$/);
    expect(says).not.toContain(canaryMark);
  });

  it('throws fails its record and never the daemon, and the first condition quotes it', async () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'adapter.mjs');
    const text = answer(
      "if (question.kind === 'products') return body.data.map(String); return standard.answer(question, status, body, standard);",
    );
    writeFileSync(file, text);
    await using harness = await differentHarness({}, { adapter: file });
    await harness.drive(harness.daemon.schedule.run('pass') as Promise<unknown>);
    await harness.live(3_600_000);
    const [first] = (await harness.daemon.status.shown()).conditions;
    expect(first?.code).toBe('answers-unusable');
    expect(first?.says).toContain('adapter: adapter.mjs: answer for products page 1 in en throws TypeError');
  });
});

describe('service.adapter', () => {
  it.each([
    ['is missing', null, /^there is no file .*adapter.mjs; expected a module that exports request, answer or both$/],
    [
      'is no JavaScript',
      'export const a = 1;\n\nexport function request( { return 3; }\n',
      /^does not load: line 3: SyntaxError: /,
    ],
    ['throws', "\nthrow new Error('not today');\n", /^does not load: line 2: Error: not today$/],
    ['imports what is not there', "import './nothing.mjs';\n", /^does not load: Error: Cannot find module/],
    [
      'awaits',
      'export const request = await 7;\n',
      /^does not load: it awaits at its top level; expected a module that does not wait$/,
    ],
    ['exports nothing', '\n', /^exports nothing; expected a function request, a function answer, or both$/],
    [
      'exports other names',
      'export default 7; export const ask = 8;\n',
      /^exports ask, default; expected a function request, a function answer, or both$/,
    ],
    ['exports another kind', 'export const answer = 7;\n', /^exports answer, which is a number; expected a function$/],
    [
      'exports what waits',
      'export async function request() {}\n',
      /^exports request, which is async; expected a function that returns its value: an adapter cannot wait$/,
    ],
  ])('%s: a problem with its line, beside the others', (_, text, says) => {
    using directory = temporaryDirectory();
    const [config, file] = [join(directory.path, 'catalogued.yaml'), join(directory.path, 'adapter.mjs')];
    if (text !== null) writeFileSync(file, text);
    writeFileSync(config, `service:\n  base_url: http://127.0.0.1\n  adapter: ${file}\ncadence: { images: 20d }\n`);
    const refused = refusalOf(() => loadWholeConfig({ file: config, env: { CATALOGUED_API_KEY: 'k' } }));
    expect(refused?.exitCode).toBe(78);
    const [first = '', second = ''] = refused?.details ?? [];
    expect(first.replace(/^line 3: service.adapter: /, '')).toMatch(says);
    expect(second).toMatch(/^line 4: cadence.images: /);
  });

  it('is loaded again when its file has changed, and named by its hash', () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'adapter.mjs');
    const path = (text: string) => {
      writeFileSync(file, request(`return { path: '${text}' };`));
      const { module, hash } = loadAdapter(file);
      return [module.request?.(list, {} as never, {} as never).path, hash];
    };
    const [one, hash] = path('/one');
    const [two, other] = path('/two');
    expect([one, two]).toEqual(['/one', '/two']);
    expect(hash).toMatch(/^sha256:[0-9a-f]{12}$/);
    expect(other).not.toBe(hash);
    expect(path('/one')).toEqual([one, hash]);
  });
});
