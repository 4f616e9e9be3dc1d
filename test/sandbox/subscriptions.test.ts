import { generateKeyPairSync, sign } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readPublicKey } from '../../src/sandbox/push/jwt.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';

const now = Date.parse('2026-11-21T12:30:00Z');
const minute = 60_000;
const day = 86_400_000;
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const callback_url = 'http://127.0.0.1:9/hooks/x';
const wanted = {
  subscription_type: 'product_ids',
  entity_ids: [703_295],
  change_types: ['checkout_disabled', 'checkout_enabled', 'product_details_update'],
  callback_url,
};

const start = (options: Partial<SandboxOptions> = {}) =>
  startSandbox({ clock: virtualClock(now), seed: 7, products: 20, ...options });

function jwt(payload: unknown, { alg = 'RS256', key = keys.privateKey } = {}): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg, typ: 'JWT' })}.${part(payload)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}

async function ask(sandbox: Sandbox, method: string, path: string, body?: unknown) {
  const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${sandbox.url}/v2/product-change-notification/${path}`, { method, body: text });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

describe('a subscription', () => {
  it('is created with 201, overwritten whole with 200, and read back with its status', async () => {
    await using sandbox = await start();
    const created = { subscription_id: 'north-1', ...wanted, status: 'active' };
    expect(await ask(sandbox, 'PUT', 'north-1', wanted)).toEqual({ status: 201, json: created });
    expect(await ask(sandbox, 'GET', 'north-1')).toEqual({ status: 200, json: created });
    const { entity_ids: _, ...rest } = wanted;
    const other = { ...rest, subscription_type: 'products_i_sell', change_types: ['checkout_disabled'] };
    const updated = { subscription_id: 'north-1', ...other, status: 'active' };
    expect(await ask(sandbox, 'PUT', 'north-1', other)).toEqual({ status: 200, json: updated });
    expect(await ask(sandbox, 'GET', 'north-1')).toEqual({ status: 200, json: updated });
    expect(sandbox.subscriptions()).toMatchObject([
      { subscription_id: 'north-1', type: 'products_i_sell', entity_ids: null, delivered: 0, failed: 0, pending: 0 },
    ]);
  });

  it('that nobody made is not found, and its name may be any path segment', async () => {
    await using sandbox = await start();
    expect(await ask(sandbox, 'GET', 'none')).toMatchObject({ status: 404, json: { error_code: 'not_found' } });
    expect(await ask(sandbox, 'POST', 'none/reactivate')).toMatchObject({ status: 404 });
    expect(await ask(sandbox, 'DELETE', 'none')).toMatchObject({ status: 405 });
    expect(await ask(sandbox, 'GET', 'a/b/c')).toMatchObject({ status: 404 });
    expect(await ask(sandbox, 'PUT', 'caf%C3%A9%20%2F', wanted)).toMatchObject({
      status: 201,
      json: { subscription_id: 'café /' },
    });
  });

  it.each<[string, object, string[]]>([
    ['an unknown type', { subscription_type: 'all' }, ['subscription_type']],
    ['no ids', { entity_ids: undefined }, ['entity_ids']],
    ['an empty list of ids', { entity_ids: [] }, ['entity_ids']],
    ['ids that are text', { entity_ids: ['703295'] }, ['entity_ids']],
    ['ids beside products_i_sell', { subscription_type: 'products_i_sell' }, ['entity_ids']],
    ['no address', { callback_url: undefined }, ['callback_url']],
    ['another scheme', { callback_url: 'ftp://partner.example/x' }, ['callback_url']],
    ['no change types', { change_types: [] }, ['change_types']],
    ['an unknown change type', { change_types: ['closure'] }, ['change_types']],
    ['two mistakes', { change_types: 'all', callback_url: 'here' }, ['callback_url', 'change_types']],
  ])('with %s is refused, field by field, and nothing is made', async (_, change, fields) => {
    await using sandbox = await start();
    const { status, json } = await ask(sandbox, 'PUT', 's', { ...wanted, ...change });
    expect({ status, code: json.error_code, fields: Object.keys(json.field_errors as object).sort() }).toEqual({
      status: 400,
      code: 'validation_error',
      fields,
    });
    expect(sandbox.subscriptions()).toEqual([]);
  });

  it('with more ids than the service takes is refused', async () => {
    await using sandbox = await start({ most_entity_ids: 2 });
    expect((await ask(sandbox, 'PUT', 's', { ...wanted, entity_ids: [1, 2] })).status).toBe(201);
    expect((await ask(sandbox, 'PUT', 's', { ...wanted, entity_ids: [1, 2, 3] })).json).toMatchObject({
      field_errors: { entity_ids: 'At most 2 ids.' },
    });
  });

  it('needs the key that reads need', async () => {
    await using sandbox = await start({ key: 'k' });
    expect(await ask(sandbox, 'PUT', 's', wanted)).toMatchObject({ status: 401, json: { error: 'unauthorized' } });
    expect(sandbox.subscriptions()).toEqual([]);
  });

  it('may be unreadable and not to be reactivated, as the service’s profile has it', async () => {
    await using sandbox = await start({ get_subscription: 'off', reactivate: 'off' });
    expect((await ask(sandbox, 'PUT', 's', wanted)).status).toBe(201);
    expect((await ask(sandbox, 'GET', 's')).status).toBe(405);
    expect((await ask(sandbox, 'POST', 's/reactivate')).status).toBe(404);
  });
});

describe('a signed body', () => {
  it('is taken when its signature matches, and nothing else is', async () => {
    await using sandbox = await start({ signing_public_key: pem });
    expect(await ask(sandbox, 'PUT', 's', jwt(wanted))).toMatchObject({ status: 201, json: { ...wanted } });
    const [head, , signature] = jwt(wanted).split('.');
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${jwt(wanted).split('.')[1]}.AA`;
    const bodies = {
      'plain JSON': JSON.stringify(wanted),
      'another key': jwt(wanted, { key: stranger }),
      'another payload': `${head}.${Buffer.from(JSON.stringify({ ...wanted, entity_ids: [1] })).toString('base64url')}.${signature}`,
      'another algorithm': jwt(wanted, { alg: 'HS256' }),
      'no algorithm': none,
      'a payload that is no object': jwt([wanted]),
      nothing: '',
    };
    for (const [name, body] of Object.entries(bodies))
      expect(await ask(sandbox, 'PUT', 's', body), name).toMatchObject({
        status: 400,
        json: { error_code: 'payload_decode_error' },
      });
    expect(sandbox.subscriptions()).toMatchObject([{ entity_ids: [703_295] }]);
  });

  it.each<[string, object, number]>([
    ['that expires in a minute', { exp: now / 1000 + 60 }, 201],
    ['that expired within the tolerance', { exp: now / 1000 - 59 }, 201],
    ['that expired', { exp: now / 1000 - 60 }, 400],
    ['made now', { iat: now / 1000 }, 201],
    ['made on a clock that is a little ahead', { iat: now / 1000 + 60 }, 201],
    ['made in the future', { iat: now / 1000 + 61 }, 400],
    ['with a time that is text', { exp: '2099' }, 400],
  ])('%s: the clock of the service decides', async (_, claims, status) => {
    await using sandbox = await start({ signing_public_key: pem });
    expect((await ask(sandbox, 'PUT', 's', jwt({ ...wanted, ...claims }))).status).toBe(status);
  });

  it('keeps its claims out of the subscription', async () => {
    await using sandbox = await start({ signing_public_key: pem });
    const { json } = await ask(
      sandbox,
      'PUT',
      's',
      jwt({ ...wanted, iat: now / 1000, exp: now / 1000 + 60, iss: 'p' }),
    );
    expect(json).toEqual({ subscription_id: 's', ...wanted, status: 'active' });
  });

  it('is needed for another address on reactivation, and may be replaced by plain JSON where that is set', async () => {
    await using sandbox = await start({ signing_public_key: pem });
    await ask(sandbox, 'PUT', 's', jwt(wanted));
    const other = { callback_url: 'https://partner.example/hooks/y' };
    expect((await ask(sandbox, 'POST', 's/reactivate', other)).status).toBe(400);
    expect(await ask(sandbox, 'POST', 's/reactivate', jwt(other))).toMatchObject({ status: 200, json: other });
    await using lax = await start({ signing_public_key: pem, plain_json: 'taken' });
    expect((await ask(lax, 'PUT', 's', wanted)).status).toBe(201);
    expect((await ask(lax, 'PUT', 's', jwt(wanted))).status).toBe(200);
  });

  it('is checked with a key in PEM or in the one-line form, and a file that is neither is refused', () => {
    const { n = '', e = '' } = keys.publicKey.export({ format: 'jwk' });
    const field = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, bytes.length >> 8, bytes.length & 255]), bytes]);
    const modulus = Buffer.concat([Buffer.of(0), Buffer.from(n, 'base64url')]);
    const line = `ssh-rsa ${Buffer.concat([field(Buffer.from('ssh-rsa')), field(Buffer.from(e, 'base64url')), field(modulus)]).toString('base64')} partner@example`;
    expect(readPublicKey(line).equals(readPublicKey(pem))).toBe(true);
    const own = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(readPublicKey(own).equals(readPublicKey(pem))).toBe(true);
    for (const text of ['', 'ssh-rsa AAAA', 'no key'])
      expect(() => readPublicKey(text)).toThrow('the signing key is not an RSA key');
  });
});

describe('an answer that goes wrong', () => {
  it('may hide a PUT that took effect', async () => {
    await using sandbox = await start({ faults: [{ kind: 'reset', method: 'PUT', times: 1 }] });
    await expect(ask(sandbox, 'PUT', 's', wanted)).rejects.toThrow();
    expect(await ask(sandbox, 'GET', 's')).toMatchObject({ status: 200 });
    expect((await ask(sandbox, 'PUT', 's', wanted)).status).toBe(200);
  });

  it('of 500 means that nothing was done, unless the fault says otherwise', async () => {
    await using sandbox = await start();
    sandbox.faults.add({ kind: 'status', status: 500, path: 'product-change-notification', times: 1 });
    expect((await ask(sandbox, 'PUT', 's', wanted)).status).toBe(500);
    expect((await ask(sandbox, 'GET', 's')).status).toBe(404);
    sandbox.faults.clear();
    sandbox.faults.add({ kind: 'status', status: 500, method: 'PUT', effect: 'taken', times: 1 });
    expect((await ask(sandbox, 'PUT', 's', wanted)).status).toBe(500);
    expect((await ask(sandbox, 'GET', 's')).status).toBe(200);
  });
});

describe('a degraded subscription', () => {
  async function degraded(options: Partial<SandboxOptions> = {}) {
    const clock = virtualClock(now);
    const sandbox = await start({ clock, hold_ms: 0, retry_ms: [], ...options });
    await ask(sandbox, 'PUT', 's', { ...wanted, callback_url: 'http://127.0.0.1:1/' });
    const [product] = sandbox.products();
    sandbox.world.edit(product?.id ?? 0, { field: 'title', value: 'Another' });
    while (sandbox.subscriptions()[0]?.failed === 0) await setImmediate();
    return { clock, sandbox };
  }
  const status = async (sandbox: Sandbox) => (await ask(sandbox, 'GET', 's')).json.status;

  it('is revived by reactivation, at the old address or another', async () => {
    const { sandbox } = await degraded();
    await using _ = sandbox;
    expect(await status(sandbox)).toBe('degraded');
    expect((await ask(sandbox, 'POST', 's/reactivate', { callback_url: 'nowhere' })).status).toBe(400);
    expect(await status(sandbox)).toBe('degraded');
    expect(await ask(sandbox, 'POST', 's/reactivate', { callback_url })).toMatchObject({
      status: 200,
      json: { callback_url, status: 'active' },
    });
    expect(await ask(sandbox, 'POST', 's/reactivate')).toMatchObject({ status: 200, json: { callback_url } });
  });

  it('is revived by an upsert, or not, as the option has it', async () => {
    const { sandbox: lenient } = await degraded();
    await using _ = lenient;
    expect((await ask(lenient, 'PUT', 's', wanted)).json.status).toBe('active');
    const { sandbox: strict } = await degraded({ upsert: 'keeps the status' });
    await using __ = strict;
    expect(await ask(strict, 'PUT', 's', wanted)).toMatchObject({ status: 200, json: { status: 'degraded' } });
    expect(await status(strict)).toBe('degraded');
  });

  it('is cancelled after a month, and failed before that where the option says when; only a PUT makes it again', async () => {
    const { clock, sandbox } = await degraded({ fail_after_ms: day, upsert: 'keeps the status' });
    await using _ = sandbox;
    await clock.advance(day - minute);
    expect(await status(sandbox)).toBe('degraded');
    await clock.advance(minute);
    expect(await status(sandbox)).toBe('failed');
    await clock.advance(29 * day - minute);
    expect(await status(sandbox)).toBe('failed');
    await clock.advance(minute);
    expect(await status(sandbox)).toBe('cancelled');
    expect((await ask(sandbox, 'POST', 's/reactivate')).status).toBe(404);
    expect(await ask(sandbox, 'PUT', 's', wanted)).toMatchObject({ status: 201, json: { status: 'active' } });
  });
});
