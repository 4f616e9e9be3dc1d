import { createVerify } from 'node:crypto';
import { compactVerify, importSPKI } from 'jose';
import { describe, expect, test } from 'vitest';
import { systemEntropy } from '../../src/kernel/clock.ts';
import type { Signing } from '../../src/push/signing.ts';
import { readSigningKey, type SigningKey } from '../../src/push/signing-key.rules.ts';
import { type SubscriptionRequest, Subscriptions } from '../../src/push/subscription-calls.ask.ts';
import { serviceClock } from '../../src/service/service-clock.ts';
import { publicPem, rsaPem } from '../fakes/signing-keys.ts';
import { askerOver } from '../fakes/standard-answers.ts';
import { answer, payloadOf, type ServedCall, subscriptionService } from '../fakes/subscription-service.ts';
import { testHttp } from '../fakes/test-http.ts';
import { manualClock } from '../service/manual-clock.ts';

const never = new AbortController().signal;
const token = 'canary-token-00000000000000000000000000000000';
const request: SubscriptionRequest = {
  subscription_id: 'all',
  type: 'product_ids',
  entity_ids: [1004411, 1004412],
  change_types: ['checkout_disabled', 'product_details_update'],
  callback_url: `https://partner.example/hooks/${token}`,
};
const payload = {
  subscription_type: 'product_ids',
  entity_ids: [1004411, 1004412],
  change_types: ['checkout_disabled', 'product_details_update'],
  callback_url: request.callback_url,
};

function key(): SigningKey {
  const read = readSigningKey(rsaPem('pkcs8'));
  if ('problem' in read) throw new Error(read.problem);
  return read;
}

const apiKey = { reveal: () => 'api-key' };

async function harness(
  signing: Signing | null = { body: 'jwt', key: key(), claims: false },
  content_type = 'application/json',
) {
  const stack = new AsyncDisposableStack();
  const clock = manualClock();
  const service = stack.use(await subscriptionService(clock.now));
  const service_clock = serviceClock();
  const http = stack.use(testHttp(service.url, clock, { key: apiKey, heard: service_clock.heard }));
  const subscriptions = new Subscriptions({
    tell: null,
    asker: askerOver(http, { key: apiKey, signing: signing?.body ?? 'jwt', content_type }),
    limiter: { run: (call, signal) => call(signal) },
    profile: {
      paths: {
        subscription: '/v2/product-change-notification/{subscription_id}',
        reactivate: '/v2/product-change-notification/{subscription_id}/reactivate',
      },
      timeout: 60_000,
    },
    signing,
    entropy: systemEntropy,
    service_clock,
    clock,
  });
  return { clock, service, service_clock, subscriptions, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Refuses a token that is not signed with our key, or whose claims do not hold by the service's clock. */
function strictly(now: () => number) {
  return ({ body }: ServedCall) => {
    const [head = '', claims = '', signature = ''] = body.split('.');
    const verified = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(publicPem(), Buffer.from(signature, 'base64url'));
    if (!verified) return { status: 400, error_code: 'payload_decode_error' };
    const { iat = now() / 1000, exp = Number.POSITIVE_INFINITY } = payloadOf(body) as unknown as {
      iat?: number;
      exp?: number;
    };
    return iat > now() / 1000 || exp < now() / 1000 ? { status: 401, error_code: 'unauthorized' } : null;
  };
}

describe('a subscription request', () => {
  test('is a compact token whose payload is the subscription object, and nothing else', async () => {
    await using at = await harness();
    at.service.verify = strictly(at.clock.now);
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'read', value: { status: 'active' } });
    const [put] = at.service.calls;
    expect(put).toMatchObject({ method: 'PUT', path: '/v2/product-change-notification/all' });
    expect(put?.headers).toMatchObject({ authorization: 'Token api-key', 'content-type': 'application/json' });
    const verified = await compactVerify(put?.body ?? '', await importSPKI(publicPem(), 'RS256'));
    expect(verified.protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT' });
    expect(new TextDecoder().decode(verified.payload)).toBe(JSON.stringify(payload));
  });

  test('has no entity_ids for products_i_sell', async () => {
    await using at = await harness();
    await at.subscriptions.put({ ...request, type: 'products_i_sell', entity_ids: null }, never);
    const { entity_ids: _, ...rest } = payload;
    expect(payloadOf(at.service.calls[0]?.body ?? '')).toEqual({ ...rest, subscription_type: 'products_i_sell' });
  });

  test('is plain JSON where the configuration says so', async () => {
    await using at = await harness({ body: 'json' });
    await at.subscriptions.put(request, never);
    expect(at.service.calls[0]).toMatchObject({
      body: JSON.stringify(payload),
      headers: { 'content-type': 'application/json' },
    });
  });

  test('has the media type of the configuration, and a 415 names it', async () => {
    for (const content_type of ['application/jwt', 'application/json; charset=utf-8']) {
      await using at = await harness(undefined, content_type);
      await at.subscriptions.put(request, never);
      expect(at.service.calls[0]?.headers).toMatchObject({ 'content-type': content_type });
      at.service.verify = () => ({ status: 415, error_code: 'unsupported_media_type' });
      const message = expect.stringContaining(`a body of type ${content_type}; set signing.content_type`);
      expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'refused', status: 415, message });
    }
  });

  test('is not made without a key', async () => {
    await using at = await harness(null);
    expect(at.subscriptions.can).toEqual({ put: false, reactivate: false });
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'failed', code: 'no-signing-key' });
    expect(at.service.calls).toEqual([]);
  });

  test('has an id that is one part of the path, whatever is in it', async () => {
    await using at = await harness();
    await at.subscriptions.find('a/b?c', never);
    expect(at.service.calls[0]?.path).toBe('/v2/product-change-notification/a%2Fb%3Fc');
  });
});

test('PKCS8 and PKCS1 are one key, with the fingerprint that ssh-keygen prints', () => {
  const [pkcs8, pkcs1] = [readSigningKey(rsaPem('pkcs8')), readSigningKey(rsaPem('pkcs1'))];
  expect(pkcs8).toMatchObject({ fingerprint: expect.stringMatching(/^SHA256:[\w+/]{43}$/) });
  expect((pkcs1 as SigningKey).fingerprint).toBe((pkcs8 as SigningKey).fingerprint);
});

describe('with claims', () => {
  const claimed = async () => harness({ body: 'jwt', key: key(), claims: true });
  const claimsOf = (call: ServedCall | undefined) =>
    payloadOf(call?.body ?? '') as unknown as { iat: number; exp: number; jti: string; nbf?: number };

  test('a token says when it was made, until when it holds, and its own id', async () => {
    await using at = await claimed();
    await at.subscriptions.put(request, never);
    await at.subscriptions.put(request, never);
    const [first, second] = at.service.calls.map(claimsOf);
    const now = Math.floor(at.clock.now() / 1000);
    expect(first).toMatchObject({
      ...payload,
      iat: now - 5,
      exp: now + 120,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(first?.nbf).toBeUndefined();
    expect(second?.jti).not.toBe(first?.jti);
  });

  test.each([10, -10])('a clock %i minutes off costs at most one refused call, and is corrected', async (minutes) => {
    await using at = await claimed();
    at.service.skew = minutes * 60_000;
    at.service.verify = strictly(() => at.clock.now() + at.service.skew);
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'read' });
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'read' });
    expect(at.service.calls).toHaveLength(3);
    expect(at.service_clock.offset()).toBeCloseTo(minutes * 60_000, -4);
  });

  test('a read teaches the clock, so that not even one call is refused', async () => {
    await using at = await claimed();
    at.service.skew = -600_000;
    at.service.verify = strictly(() => at.clock.now() + at.service.skew);
    await at.subscriptions.find('all', never);
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'read' });
    expect(at.service.puts()).toHaveLength(1);
  });

  test('a refusal for another reason is not repeated', async () => {
    await using at = await claimed();
    at.service.verify = () => ({ status: 401, error_code: 'unauthorized' });
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'refused', status: 401 });
    expect(at.service.calls).toHaveLength(1);
  });
});

describe('an answer', () => {
  const cases: [title: string, body: string, type: string, expected: object][] = [
    [
      'that echoes all',
      JSON.stringify({ subscription_id: 'all', ...payload, status: 'Active' }),
      'application/json',
      { status: 'active', entity_ids: [1004411, 1004412] },
    ],
    [
      'without change types',
      '{"status":"degraded","subscription_type":"product_ids"}',
      'application/json',
      { status: 'degraded', change_types: null },
    ],
    ['of a status nobody knows', '{"status":"on hold!"}', 'application/json', { status: 'on hold' }],
    ['with ids as text', '{"entity_ids":["12",13,null,"x"]}', 'application/json', { entity_ids: [12, 13] }],
    ['of nothing', '', 'text/plain', { status: null, callback_url: null }],
    ['that is no JSON', 'OK', 'text/plain', { status: null }],
    ['of a list', '[]', 'application/json', { status: null }],
  ];
  test.each(cases)('to a PUT %s is taken for what it says', async (_, body, type, expected) => {
    await using at = await harness();
    at.service.script.push((_call, response) => void response.writeHead(200, { 'content-type': type }).end(body));
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'read', value: expected });
  });

  test('that says nothing is no answer to a read', async () => {
    await using at = await harness();
    at.service.script.push((_call, response) => answer(response, 200, {}));
    expect(await at.subscriptions.find('all', never)).toMatchObject({ kind: 'failed', code: 'wrong-shape' });
  });

  test('of 204 is an accepted PUT', async () => {
    await using at = await harness();
    at.service.script.push((_call, response) => void response.writeHead(204).end());
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'read' });
  });
});

describe('a refusal names what to do', () => {
  const cases: [title: string, status: number, body: object, expected: object][] = [
    [
      'of the signature',
      400,
      { error_code: 'payload_decode_error', message: 'Cannot decode.' },
      { code: 'payload_decode_error', message: expect.stringMatching(/signing\.key_file.*public key SHA256:/) },
    ],
    [
      'of a field',
      400,
      {
        error_code: 'validation_error',
        message: 'One field was refused.',
        field_errors: { entity_ids: 'Too many.', change_types: ['Bad.'] },
      },
      { code: 'validation_error', message: 'One field was refused. (entity_ids: Too many.; change_types: refused)' },
    ],
    [
      'of the key',
      401,
      { error: 'unauthorized', message: 'No.' },
      { code: 'unauthorized', message: expect.stringContaining('service.api_key_file') },
    ],
    [
      'of the endpoint',
      403,
      { message: 'No.' },
      { code: 'status-403', message: expect.stringContaining('may not manage subscriptions') },
    ],
  ];
  test.each(cases)('%s', async (_, status, body, expected) => {
    await using at = await harness();
    at.service.script.push((_call, response) => answer(response, status, body));
    expect(await at.subscriptions.put(request, never)).toMatchObject({ kind: 'refused', status, ...expected });
  });

  test('and never repeats the callback address', async () => {
    await using at = await harness();
    const message = `callback_url ${request.callback_url} and /hooks/${token} are not reachable`;
    at.service.script.push((_call, response) => answer(response, 400, { error_code: 'validation_error', message }));
    expect(JSON.stringify(await at.subscriptions.put(request, never))).not.toContain('canary');
  });
});

test('a subscription that is not there is missing', async () => {
  await using at = await harness();
  expect(await at.subscriptions.find('all', never)).toEqual({ kind: 'missing', status: 404 });
  expect(await at.subscriptions.reactivate('all', null, never)).toEqual({ kind: 'missing', status: 404 });
});

test('a reactivation keeps the address, or brings the new one', async () => {
  await using at = await harness();
  await at.subscriptions.put(request, never);
  await at.subscriptions.reactivate('all', null, never);
  expect(at.service.held.get('all')?.callback_url).toBe(request.callback_url);
  await at.subscriptions.reactivate('all', 'https://partner.example/hooks/new', never);
  expect(at.service.held.get('all')?.callback_url).toBe('https://partner.example/hooks/new');
  expect(at.service.calls.at(-1)?.path).toBe('/v2/product-change-notification/all/reactivate');
});
