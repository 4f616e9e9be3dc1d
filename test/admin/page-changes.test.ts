import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeText } from '../../src/admin/page/recent.ts';
import { formTokens, formValidMs } from '../../src/admin/page/resync.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import type { ChangeKind } from '../../src/feed/change.rules.ts';
import { changes } from '../../src/mirror/contract/mirror.ts';
import { canary } from '../fakes/canary.ts';
import { fastClock } from '../fakes/fast-clock.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { now } from './known-status.ts';

/** Details of each kind, and the rest of the sentence that begins with the product's title. */
const cases: Readonly<
  Record<ChangeKind, readonly [detail: object, of: { date?: string; language?: string }, text: string]>
> = {
  product_added: [{ title: 'Tower' }, {}, 'is new'],
  product_changed: [
    { fields: ['description', 'whats_included', 'a', 'b', 'c'] },
    { language: 'de' },
    'has changed in de: description, whats included, a, b and 1 more',
  ],
  product_withdrawn: [{ reason: 'not_listed' }, {}, 'was withdrawn (not listed)'],
  product_returned: [{ withdrawn_at: 1 }, {}, 'is listed again'],
  sale_disabled: [
    { reason: 'temporary_closure', expected_reopening: 'within_7_days' },
    {},
    'was closed (temporary closure), expected back within 7 days',
  ],
  sale_enabled: [{}, {}, 'is on sale again'],
  dates_withheld: [{}, {}, 'was closed: none of its dates is on sale'],
  dates_released: [{}, {}, 'is on sale again, with its dates'],
  price_changed: [
    { currency: 'EUR', old: 1100, new: 1250 },
    { date: '2026-11-22' },
    'has another price: its cheapest ticket on 2026-11-22 is 12.50 EUR, and was 11.00 EUR',
  ],
  date_added: [{}, { date: '2026-11-22' }, 'can be booked on 2026-11-22: a new date'],
  date_sold_out: [{}, { date: '2026-11-22' }, 'is sold out on 2026-11-22'],
  date_back: [{}, { date: '2026-11-22' }, 'can be booked again on 2026-11-22'],
  image_added: [{ image_key: 'a', credit: 'Photo: B' }, {}, 'has a new image (Photo: B)'],
  image_credit_changed: [{ old: 'A', new: null }, {}, 'has an image with another credit: none instead of A'],
  image_withdrawn: [{ image_key: 'a', credit: null }, {}, 'has lost an image'],
  checkout_changed: [
    { fields: ['must_know'] },
    { language: 'en' },
    'has changed checkout information in en: must know',
  ],
  variants_changed: [{ variant_ids: [1, 2] }, {}, 'has 2 changed tickets'],
  slots_changed: [{ dates: ['2026-11-22'] }, {}, 'has changed times, prices or limits on 1 date'],
  images_changed: [{ image_keys: ['a'] }, {}, 'has 1 changed image'],
  prices_changed: [{ currency: 'JPY', old: null, new: 900 }, {}, 'has a price: its price is 900 JPY'],
  experience_changed: [{ experience_ids: [1] }, {}, 'has joined or left 1 experience'],
  held: [{ subject: 'near-dates' }, {}, 'is held: too many answers make the same claim (near dates)'],
  tags_changed: [{ tag_ids: [1] }, {}, 'has other tags'],
  pass_completed: [{ from: 1, to: 2 }, {}, 'was read'],
};

const change = (kind: string, detail: string, of: { date?: string; language?: string } = {}) =>
  changeText({ seq: 1, at: now, product_id: 1, kind, language: of.language ?? null, date: of.date ?? null, detail });

describe('a change of the feed as a sentence', () => {
  it.each(Object.entries(cases))('%s', (kind, [detail, of, text]) => {
    expect(change(kind, JSON.stringify(detail), of)).toBe(text);
  });

  it('names a price that is gone', () => {
    expect(change('price_changed', '{"currency":"EUR","old":1100,"new":null}')).toBe(
      'has no price any more: its price was 11.00 EUR',
    );
  });

  it('is there for every kind that the contract has, for one that it does not know, and for a detail that cannot be read', () => {
    expect(Object.keys(cases).sort()).toEqual([...(changes.columns.kind.words ?? [])].sort());
    expect(change('gate_moved', '{}')).toBe('has changed: gate moved');
    for (const kind of Object.keys(cases))
      for (const detail of ['', '[]', '"x"', '{"fields":3,"old":{},"new":[]}']) change(kind, detail);
  });
});

const stack = new AsyncDisposableStack();
let daemon: RunningDaemon;
let url = '';

beforeAll(async () => {
  const { path } = stack.use(temporaryDirectory());
  const admin = { listen: '127.0.0.1:0' };
  const config = testConfig(path, 'http://127.0.0.1:9', { admin }, { admin_token: createSecret(canary.admin) });
  // A price waits three seconds for a service that is away.
  daemon = stack.use(await startDaemon(testMachine({ clock: fastClock(20) }), config));
  url = `${new URL(daemon.admin[0] ?? '').origin}/resync`;
});
afterAll(() => stack.disposeAsync());

const authorization = `Bearer ${canary.admin}`;
const unfinished = () => daemon.mirror.schedule.jobs.unfinished().length;

async function look(query = ''): Promise<string> {
  return await (await fetch(url + query, { headers: { authorization } })).text();
}

function tokenIn(page: string): string {
  return /name="token" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

async function post(fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields);
  const answer = await fetch(url, { method: 'POST', redirect: 'manual', headers: { authorization, ...headers }, body });
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
}

describe('a resync by the page', () => {
  it('asks what to read, then shows what that costs, and changes nothing by either', async () => {
    expect(await look('?product=7')).toMatch(
      /name="resources" value="availability"[\s\S]*name="product"[^>]*value="7"/,
    );
    expect(await look('?resources=products')).toMatch(
      /<h1>(?:At least )?\d+ calls, about [\s\S]*Nothing was made due[\s\S]*>Start</,
    );
    expect(unfinished()).toBe(0);
  });

  it('is not started without the token of the form, with that of another request, or by a page of another origin', async () => {
    const token = tokenIn(await look('?resources=products'));
    expect(token).not.toBe('');
    const missing = { status: 403, text: expect.stringMatching(/role="alert">The form token is missing/) };
    const changed = { status: 403, text: expect.stringMatching(/role="alert">This form was too old, or was changed/) };
    expect(await post({ resources: 'products' })).toMatchObject(missing);
    expect(await post({ resources: 'products', token: 'x' })).toMatchObject(missing);
    expect(await post({ resources: 'variants', token })).toMatchObject(changed);
    expect(await post({ resources: 'products', token: `1${token}` })).toMatchObject(changed);
    const elsewhere = { status: 403, text: expect.stringContaining('"other-origin"') };
    expect(await post({ resources: 'products', token }, { origin: 'https://evil.example' })).toMatchObject(elsewhere);
    expect(await post({ resources: 'products', token }, { 'sec-fetch-site': 'cross-site' })).toMatchObject(elsewhere);
    expect(unfinished()).toBe(0);
  });

  it('takes only what a form sends, and no other route does', async () => {
    const json = { authorization, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'POST', headers: json, body: '{}' })).status).toBe(415);
    const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const api = url.replace('/resync', '/v1/resync');
    expect((await fetch(api, { method: 'POST', headers: form, body: 'resources=products' })).status).toBe(415);
    expect((await post({ token: 'x' })).status).toBe(400);
    expect(unfinished()).toBe(0);
  });

  it('starts with the token of the form that has shown its price, and leads back', async () => {
    const token = tokenIn(await look('?resources=products'));
    expect(await post({ resources: 'products', token }, { origin: new URL(url).origin })).toMatchObject({
      status: 303,
      location: '/',
    });
    expect(unfinished()).toBe(1);
  });
});

describe('the token of a form', () => {
  it('holds for a quarter of an hour, for its own request, in its own daemon', () => {
    let now = 1_000_000;
    const tokens = formTokens(Buffer.alloc(32, 1), () => now);
    const token = tokens.issue('a');
    expect(tokens.refusalOf(token, 'a')).toBeNull();
    expect(tokens.refusalOf(token, 'b')).toContain('changed');
    expect(formTokens(Buffer.alloc(32, 2), () => now).refusalOf(token, 'a')).toContain('too old');
    now += formValidMs;
    expect(tokens.refusalOf(token, 'a')).toBeNull();
    now += 1;
    expect(tokens.refusalOf(token, 'a')).toContain('too old');
    now -= formValidMs + 2;
    expect(tokens.refusalOf(token, 'a')).toContain('too old');
    expect(tokens.refusalOf([token], 'a')).toContain('missing');
  });
});
