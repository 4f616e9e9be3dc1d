import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formTokens, formValidMs } from '../../src/admin/page/form-token.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { canary } from '../fakes/canary.ts';
import { fastClock } from '../fakes/fast-clock.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

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
