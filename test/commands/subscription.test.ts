import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Answers } from '../../src/admin/api.ts';
import { type AdminOptions, startAdmin } from '../../src/admin/server.ts';
import { doctorCommand } from '../../src/commands/doctor.ts';
import { subscriptionCommand } from '../../src/commands/subscription.ts';
import { loadConfig } from '../../src/config/load.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { openMirroring } from '../../src/daemon/mirroring.ts';
import { subscriptionAnswers } from '../../src/daemon/subscriptions.ts';
import { ChangeFeed } from '../../src/feed/changes.store.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { CataloguedError } from '../../src/kernel/errors.ts';
import { readsOf } from '../../src/kernel/sqlite/statements.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { serviceChecks } from '../../src/says/doctor/doctor.ts';
import { canary } from '../fakes/canary.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { rsaPem } from '../fakes/signing-keys.ts';
import { type SubscriptionService, subscriptionService } from '../fakes/subscription-service.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

interface Answered {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly error: CataloguedError | null;
}

interface CommandHarness extends AsyncDisposable {
  readonly service: SubscriptionService;
  run(...args: string[]): Promise<Answered>;
  doctor(...args: string[]): Promise<Answered>;
  /** A daemon as far as these commands see one: it holds the lock, and does nothing by itself. */
  start(): Promise<void>;
}

const these = { id: 'these', type: 'product_ids', entities: [1004411, 1004412] };

async function harness(more: Record<string, unknown> = {}): Promise<CommandHarness> {
  const stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(temporaryDirectory());
  const service = stack.use(await subscriptionService(systemClock.now));
  const pem = join(directory, 'signing.pem');
  writeFileSync(pem, rsaPem('pkcs8'));
  chmodSync(pem, 0o600);
  const config = join(directory, 'catalogued.yaml');
  const settings = {
    signing: { key_file: pem },
    receiver: { public_url: 'http://127.0.0.1:9/hooks' },
    subscriptions: [these, { id: 'sold', type: 'products_i_sell' }],
    ...more,
  };
  writeFileSync(config, testConfigText(directory, service.url, settings));
  const env = { CATALOGUED_CONFIG: config, CATALOGUED_RECEIVER_SECRET: canary.master };
  async function answered(command: typeof subscriptionCommand, args: string[]): Promise<Answered> {
    const io = capturedIo(env);
    try {
      await command(io).exitOverride().parseAsync(args, { from: 'user' });
      return { code: io.code(), out: io.out(), err: io.err(), error: null };
    } catch (error) {
      return {
        code: (error as CataloguedError).exitCode,
        out: io.out(),
        err: io.err(),
        error: error as CataloguedError,
      };
    }
  }
  return {
    service,
    run: (...args) => answered(subscriptionCommand, args),
    doctor: (...args) => answered(doctorCommand, args),
    start: async () => {
      const loaded = loadConfig({ file: config, env });
      const { log } = testLog('fatal');
      const { subscriptions, probe, serviceClock, mirror } = stack.use(
        await openMirroring(testMachine({ log }), loaded),
      );
      const feed = new ChangeFeed(
        readsOf(
          stack.adopt(openMirrorForReading(mirror.path), (db) => {
            db.close();
          }),
        ),
      );
      const probes = {
        config: loaded.config,
        probe,
        offset: serviceClock.offset,
        subscriptions,
        notOffered: () => [],
        peers: null,
      };
      const answers: Partial<Answers> = {
        ...subscriptionAnswers(subscriptions),
        'GET /v1/doctor': (_, signal) => serviceChecks(probes, signal),
      };
      const options = {
        changes: { feed, clock: systemClock, onChanges: (listener: () => void) => mirror.onChanges(listener) },
        listen: loaded.config.admin.listen,
        token: null,
        log,
        answers,
        room: roomFor(null),
      };
      stack.use(await startAdmin(options as unknown as AdminOptions));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe.each(['a daemon', 'no daemon'] as const)('with %s', (running) => {
  const begin = async (more: Record<string, unknown> = {}) => {
    const at = await harness(more);
    if (running === 'a daemon') await at.start();
    // The first command makes the files.
    else await at.run('apply', '--dry-run');
    at.service.calls.length = 0;
    return at;
  };

  it('says that what is mirrored has to be read first', async () => {
    await using at = await begin({ subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }] });
    for (const args of [['show'], ['apply'], ['rotate']])
      expect(await at.run(...args)).toMatchObject({
        code: 0,
        out: expect.stringContaining('no product has been read yet'),
      });
    const refused = await at.run('reactivate', 'all');
    expect(refused).toMatchObject({ code: 64 });
    expect(refused.error?.hint).toContain('exists only once the lists have been read');
  });

  it('says what it would apply, applies it, and then nothing differs', async () => {
    await using at = await begin();
    const dry = await at.run('apply', '--dry-run');
    expect(dry).toMatchObject({ code: 0, out: expect.stringMatching(/^these +would create +2 +not there$/m) });
    expect(at.service.puts()).toEqual([]);
    expect(await at.run('show')).toMatchObject({ code: 1, out: expect.stringContaining('Differs: not there') });
    const applied = await at.run('apply', '--json');
    expect(JSON.parse(applied.out)).toMatchObject([
      { subscription_id: 'these', action: 'create', done: true, request: { entity_ids: [1004411, 1004412] } },
      { subscription_id: 'sold', action: 'create', done: true },
    ]);
    expect(applied.out).not.toContain('/hooks');
    expect(applied.err.includes('no daemon runs')).toBe(running === 'no daemon');
    expect(await at.run('show')).toMatchObject({ code: 0, out: expect.stringContaining('Nothing differs.') });
    expect(await at.run('show', 'sold', '--json')).toMatchObject({ code: 0 });
    const list = await at.run('list');
    expect(list.out).toMatch(/^these +product_ids +2 +0 +active +- +- +\d+ s ago +no$/m);
    expect(list.out).toMatch(/^sold +products_i_sell +- +- +active/m);
    expect(list.out).toContain('Products on sale that no working subscription covers: 0\n');
    expect(JSON.parse((await at.run('list', '--json')).out)).toMatchObject({ waiting: [], uncovered: { count: 0 } });
  });

  it('names what the service refuses (69)', async () => {
    await using at = await begin();
    at.service.verify = () => ({ status: 400, error_code: 'payload_decode_error' });
    const refused = await at.run('apply');
    expect(refused).toMatchObject({ code: 69, out: expect.stringMatching(/^these +failed/m) });
    expect(refused.error?.details[0]).toMatch(/^these: refused: .*signing\.key_file.*public key SHA256:/);
    expect(await at.doctor()).toMatchObject({
      code: 1,
      out: expect.stringMatching(/these: not there; refused: .*payload_decode_error/),
    });
    expect(await at.run('show')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^The last attempt: refused: /m),
    });
  });
});

describe('where subscriptions cannot be managed', () => {
  const cases: [title: string, more: Record<string, unknown>, expected: string][] = [
    ['none is declared', { subscriptions: [] }, 'no subscription is declared'],
    ['there is no public address', { receiver: {} }, 'receiver.public_url is not set'],
    [
      'the profile has no path for them',
      { service: { profile: { authorization: { header: null }, paths: { subscription: null } } } },
      'service.profile.paths.subscription is null',
    ],
  ];
  it.each(cases)('because %s, a command says so (78)', async (_, more, expected) => {
    await using at = await harness(more);
    expect(await at.run('apply')).toMatchObject({ code: 78, error: { message: expected } });
    expect(at.service.calls).toEqual([]);
  });
});

it('the doctor makes no files, and says that a service that is away is away', async () => {
  await using at = await harness();
  expect((await at.doctor()).out).toMatch(/^. +service +/m);
  expect(await at.run('list')).toMatchObject({ code: 65 });
  await at.run('apply', '--dry-run');
  await at.service[Symbol.asyncDispose]();
  const { code, out } = await at.doctor();
  expect(code).toBe(1);
  expect(out).toMatch(/^✗ +service +the connection was refused\n +→ Check the network and service\.base_url/m);
  expect(out).toMatch(/^- +subscriptions +the service cannot be asked$/m);
});

it('a configuration that is wrong is the doctor’s first and only finding', async () => {
  await using at = await harness({ signing: { key_file: '/nowhere/key.pem' } });
  const { code, out } = await at.doctor();
  expect(code).toBe(1);
  expect(out.trim().split('\n')).toHaveLength(2);
  expect(out).toMatch(/^✗ +configuration +signing\.key_file: there is no file \/nowhere\/key\.pem/m);
});
