import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../../../src/config/adapter.ts';
import { systemEntropy } from '../../../src/kernel/clock.ts';
import { readSigningKey } from '../../../src/push/signing-key.rules.ts';
import { type SubscriptionRequest, Subscriptions } from '../../../src/push/subscription-calls.ask.ts';
import { builtIn } from '../../../src/service/named-adapter.rules.ts';
import { ServiceAsker } from '../../../src/service/service-asker.ts';
import { serviceClock } from '../../../src/service/service-clock.ts';
import { document } from '../../documents.ts';
import { canary } from '../../fakes/canary.ts';
import { differentHarness } from '../../fakes/different-harness.ts';
import { type Difference, differentService } from '../../fakes/different-service.ts';
import { openMirrorAt } from '../../fakes/mirror-at.ts';
import { cursorShape, offsetShape, queryKeyShape, signatureShape } from '../../fakes/service-shapes.ts';
import { rsaPem } from '../../fakes/signing-keys.ts';
import { defaultProfile } from '../../fakes/standard-answers.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testHttp } from '../../fakes/test-http.ts';
import { manualClock } from '../manual-clock.ts';

const path = (name: string) => fileURLToPath(new URL(`../../../config/adapters/${name}.mjs`, import.meta.url));
const never = new AbortController().signal;

const filled: readonly [name: string, difference: Difference, service: object][] = [
  ['cursor', cursorShape, { profile: { page_size: 5 } }],
  ['offset', offsetShape, { profile: { page_size: 5 } }],
  ['query-key', queryKeyShape(canary.key), {}],
];

describe('the example', () => {
  it.each(filled)('%s fills the mirror from the service that it is for, without a difference', async (...given) => {
    const [name, difference, service] = given;
    await using harness = await differentHarness(difference, { ...service, adapter: path(name) }, {});
    await harness.runUntil(harness.isFilled);
    const { differences, first, products } = await harness.compare();
    expect({ differences, first, products }).toEqual({ differences: 0, first: [], products: 12 });
    expect(harness.status().records.failing).toBe(0);
  });

  it('offset mirrors the second language, which it asks for in a header', async () => {
    const service = { profile: { page_size: 5 }, languages: ['en', 'nl'], adapter: path('offset') };
    await using harness = await differentHarness(offsetShape, service, {});
    await harness.fill();
    const reader = openMirrorAt(harness.daemon.config.mirror.path, harness.clock.now());
    const titles = reader.prepare("SELECT title FROM products WHERE language = 'nl'").pluck().all();
    reader.close();
    expect(titles).toHaveLength(12);
    expect(titles.filter((title) => /\[nl\]$/.test(String(title)))).toHaveLength(12);
  });

  it.each(filled)('%s is needed: the built-in adapter does not fill it (control)', async (...given) => {
    const [, difference, service] = given;
    await using harness = await differentHarness(difference, service, {});
    await harness.drive(harness.daemon.schedule.run('pass') as Promise<unknown>);
    expect(harness.isFilled()).toBe(false);
  });

  const request: SubscriptionRequest = {
    subscription_id: 'all',
    type: 'product_ids',
    entity_ids: [1004411],
    change_types: ['checkout_disabled'],
    callback_url: 'https://partner.example/hooks/0123456789',
  };

  it.each([
    ['makes a subscription', loadAdapter(path('signature-header')), { kind: 'read', value: { status: 'active' } }],
    [
      'is needed: the token as the body is refused (control)',
      builtIn,
      { kind: 'refused', code: 'payload_decode_error' },
    ],
  ] as const)('signature-header %s', async (_, adapter, expected) => {
    const clock = manualClock();
    await using sandbox = await startSandbox({ clock, products: 3 });
    await using service = await differentService(sandbox.url, signatureShape);
    const service_clock = serviceClock();
    await using http = testHttp(service.url, clock, { connections: 1, throttle_statuses: [429] });
    const key = readSigningKey(rsaPem('pkcs8'));
    if ('problem' in key) throw new Error(key.problem);
    const subscriptions = new Subscriptions({
      tell: null,
      asker: new ServiceAsker(http, adapter, {
        key: null,
        profile: defaultProfile,
        select: {},
        signing: 'jwt',
        content_type: 'application/json',
      }),
      limiter: { run: (call, signal) => call(signal) },
      profile: { ...defaultProfile, timeout: 60_000 },
      signing: { body: 'jwt', key, claims: false },
      service_clock,
      clock,
      entropy: systemEntropy,
    });
    expect(await subscriptions.put(request, never)).toMatchObject(expected);
  });

  it('that docs/service.md shows is the file', () => {
    expect(document('docs/service.md')).toContain(`\`\`\`js\n${readFileSync(path('cursor'), 'utf8')}\`\`\`\n`);
  });
});
