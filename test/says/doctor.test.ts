import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createSecret, type Secrets } from '../../src/config/secrets.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { Comparison, ManagedSubscriptions, SubscriptionWork } from '../../src/push/subscriptions.ts';
import { type Check, isHealthy } from '../../src/says/doctor/check.ts';
import { credentialChecks, localChecks, type ServiceProbes, serviceChecks } from '../../src/says/doctor/doctor.ts';
import { storefrontDoor } from '../../src/says/doctor/files.ts';
import { testConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const never = new AbortController().signal;
const compared: Comparison = {
  subscription_id: 'all',
  declared: null,
  service: null,
  differences: [],
  failure: null,
  last_attempt: null,
};

function managed(
  comparison: Partial<Comparison>,
  result: 'passed' | 'failed' = 'passed',
  answered = false,
): ManagedSubscriptions {
  const work: Pick<SubscriptionWork, 'compare' | 'selfTest'> = {
    compare: async () => [{ ...compared, ...comparison }],
    selfTest: async () => ({ result, message: 'no answer in time', answered }),
  };
  return { work: work as SubscriptionWork };
}

async function found(probes: Partial<ServiceProbes>): Promise<Record<string, Check>> {
  const { config } = testConfig('/nowhere', 'http://127.0.0.1:9');
  const checks = await serviceChecks(
    {
      config,
      notOffered: () => [],
      probe: async () => ({ kind: 'answer', status: 200, text: '{}', hash: '', bytes: 2, sent_at: instant(0) }),
      offset: () => 400,
      subscriptions: managed({}),
      peers: () => [],
      ...probes,
    },
    never,
  );
  return Object.fromEntries(checks.map((check) => [check.name, check]));
}

const peer = (address: string, allowed: boolean) => ({ peer: address, received_at: instant(0), allowed });

describe('the doctor', () => {
  const cases: [title: string, probes: Partial<ServiceProbes>, name: string, expected: Partial<Check>][] = [
    ['finds a service that answers', {}, 'service', { verdict: 'ok' }],
    [
      'names a refused key',
      { probe: async () => ({ kind: 'refused', status: 401, code: 'unauthorized', message: 'No.' }) },
      'service',
      { verdict: 'wrong', found: 'it refuses (401): No.', advice: expect.stringContaining('service.api_key_file') },
    ],
    [
      'names a service that is busy',
      { probe: async () => ({ kind: 'throttled', status: 429, until: null }) },
      'service',
      { verdict: 'wrong', found: 'it throttles (429)' },
    ],
    ['takes a clock that is right', {}, 'clock', { verdict: 'ok', found: '0.4 s behind the service' }],
    [
      'names a clock that is ahead',
      { offset: () => -61_000 },
      'clock',
      { verdict: 'wrong', found: '61.0 s ahead of the service' },
    ],
    ['cannot tell the time by a service that has none', { offset: () => null }, 'clock', { verdict: 'skipped' }],
    [
      'repeats what differs and why the last attempt failed',
      { subscriptions: managed({ differences: ['entity_ids: 2 more'], last_attempt: 'refused: Too many.' }) },
      'subscriptions',
      { verdict: 'wrong', found: 'all: entity_ids: 2 more; refused: Too many.' },
    ],
    [
      'says where the service cannot be asked about one',
      { subscriptions: managed({ failure: 'failed: the service answered 500' }) },
      'subscriptions',
      { verdict: 'wrong', found: 'all: failed: the service answered 500' },
    ],
    ['hears the receiver at its public address', {}, 'receiver', { verdict: 'ok' }],
    [
      'cannot tell where nobody answers: this network may not let it',
      { subscriptions: managed({}, 'failed') },
      'receiver',
      { verdict: 'skipped', found: 'cannot tell: from here no answer in time' },
    ],
    [
      'hears somebody else there',
      { subscriptions: managed({}, 'failed', true) },
      'receiver',
      { verdict: 'wrong', found: 'not reached through its public address: no answer in time' },
    ],
    ['has nothing to hear where none runs', { peers: null }, 'receiver', { verdict: 'skipped' }],
    ['knows no deliveries yet', {}, 'last deliveries', { verdict: 'skipped', found: 'none yet' }],
    [
      'prints who delivered last',
      { peers: () => [peer('192.0.2.1', true), peer('192.0.2.1', true), peer('192.0.2.2', true)] },
      'last deliveries',
      { verdict: 'ok', found: 'from 192.0.2.1, 192.0.2.2: allowed' },
    ],
    [
      'prints who would be refused',
      { peers: () => [peer('192.0.2.1', true), peer('10.0.0.1', false)] },
      'last deliveries',
      {
        verdict: 'wrong',
        found: 'from 10.0.0.1: receiver.allow would refuse them',
        advice: expect.stringContaining('receiver.trusted_proxies'),
      },
    ],
  ];
  test.each(cases)('%s', async (_, probes, name, expected) => {
    expect((await found(probes))[name]).toMatchObject(expected);
  });

  test('asks about nothing else where the service is away', async () => {
    const away = await found({
      probe: async () => ({ kind: 'unreachable', code: 'dns', message: 'the name cannot be resolved' }),
    });
    expect(away.subscriptions).toMatchObject({ verdict: 'skipped', found: 'the service cannot be asked' });
  });

  test('finds a state directory that others may enter', () => {
    using directory = temporaryDirectory();
    mkdirSync(`${directory.path}/state`);
    chmodSync(`${directory.path}/state`, 0o755);
    const loaded = testConfig(directory.path, 'http://127.0.0.1:9');
    const checks = localChecks(loaded, credentialChecks(loaded));
    expect(isHealthy(checks)).toBe(false);
    expect(checks.find(({ verdict }) => verdict === 'wrong')).toEqual({
      name: 'state directory',
      verdict: 'wrong',
      found: `${directory.path}/state, mode 0755`,
      advice: `chmod 0700 ${directory.path}/state`,
    });
  });

  test('knows whether a storefront can get to its own door', async () => {
    using directory = temporaryDirectory();
    const at = (listen: string | null, some: Partial<Secrets> = {}) =>
      storefrontDoor(testConfig(directory.path, 'http://127.0.0.1:9', { storefront: { listen } }, some));
    const socket = `${directory.path}/door/storefront.sock`;
    expect(at(null)).toMatchObject({ verdict: 'skipped' });
    expect(at('127.0.0.1:8482', { storefront_token: createSecret('a'.repeat(32)) })).toMatchObject({
      verdict: 'ok',
      found: '127.0.0.1:8482, with the token sha256:3ba3f5f4',
    });
    expect(at(`unix:${socket}`)).toMatchObject({ verdict: 'wrong', found: expect.stringContaining('no directory') });
    mkdirSync(`${directory.path}/door`, { mode: 0o700 });
    expect(at(`unix:${socket}`)).toMatchObject({
      verdict: 'wrong',
      advice: `chmod g+x ${directory.path}/door, or put the socket beside the mirror`,
    });
    chmodSync(`${directory.path}/door`, 0o750);
    expect(at(`unix:${socket}`)).toMatchObject({ verdict: 'ok' });
    const server = createServer().listen(socket);
    using _ = { [Symbol.dispose]: () => server.close() };
    await once(server, 'listening');
    chmodSync(socket, 0o600);
    expect(at(`unix:${socket}`)).toMatchObject({ verdict: 'wrong', found: `its group may not connect to ${socket}` });
    chmodSync(socket, 0o660);
    expect(at(`unix:${socket}`)).toMatchObject({ verdict: 'ok', found: expect.stringContaining('for the group') });
    expect(at(`unix:${directory.path}/door/file`)).toMatchObject({ verdict: 'ok' });
    writeFileSync(`${directory.path}/door/file`, '');
    expect(at(`unix:${directory.path}/door/file`)).toMatchObject({ verdict: 'wrong' });
    expect(at(`unix:${directory.path}/mirror/storefront.sock`)).toMatchObject({ verdict: 'skipped' });
  });
});
