import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { adminClient } from '../../src/admin/client.ts';
import type { LoadedConfig, Secrets } from '../../src/config/load.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { type ReloadingDaemon, restartKeys, startReloading } from '../../src/daemon/reloading.ts';
import { holdFiles } from '../../src/files/locks.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { CataloguedError } from '../../src/kernel/errors.ts';
import type { Logger } from '../../src/kernel/log.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

interface Stage extends AsyncDisposable {
  readonly daemon: ReloadingDaemon;
  readonly sandbox: Awaited<ReturnType<typeof startSandbox>>;
  readonly log: Logger;
  lines(): Record<string, unknown>[];
  readonly client: ReturnType<typeof adminClient>;
  /** What the configuration file says from now on. */
  says(more: Record<string, unknown>, secrets?: Partial<Secrets>): void;
  breaks(error: CataloguedError): void;
  reload(): Promise<ReturnType<ReloadingDaemon['last']>>;
}

async function stage(more: Record<string, unknown> = {}, secrets: Partial<Secrets> = {}, key?: string): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ products: 5, lean: true, key: key ?? null }));
  let load = (): LoadedConfig => testConfig(path, sandbox.url, more, secrets);
  const { log, lines } = testLog();
  const daemon = stack.use(
    await startReloading({ machine: testMachine({ log }), load: () => load(), start: startDaemon }),
  );
  const client = adminClient(`unix:${join(path, 'state', 'admin.sock')}`, null);
  const closing = stack.move();
  return {
    daemon,
    sandbox,
    log,
    lines,
    client,
    says: (next, others = secrets) => {
      load = () => testConfig(path, sandbox.url, next, others);
    },
    breaks: (error) => {
      load = () => {
        throw error;
      };
    },
    reload: async () => {
      daemon.begin();
      await daemon.settled();
      return daemon.last();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

describe('a reload', () => {
  it('takes over every key that differs, the log level among them, and says which', async () => {
    await using world = await stage({ log: { level: 'info' } });
    world.says({ log: { level: 'warn' }, cadence: { images: '3d' }, service: { languages: ['en', 'de'] } });
    expect(await world.reload()).toMatchObject({
      reloads: 1,
      changed: expect.arrayContaining(['log.level', 'cadence.images', 'service.languages']),
      refused: null,
    });
    expect(world.log.level).toBe('warn');
    expect(world.daemon.current()?.config.cadence.images).toBe(3 * 86_400_000);
    expect(await world.client.call({ operation: 'GET /v1/status' })).not.toBeNull();
  });

  it('takes another key of the service, and sends it from then on', needs('time'), async () => {
    const authorized = { profile: { authorization: { header: 'Authorization' } } };
    await using world = await stage({ service: authorized }, { api_key: createSecret('the-first') }, 'the-second');
    await world.daemon.current()?.tick();
    const status = () => world.client.call({ operation: 'GET /v1/status' });
    expect(await status()).toMatchObject({ daemon: { key_refused: expect.any(String) } });
    world.says({ service: authorized }, { api_key: createSecret('the-second') });
    expect(await world.reload()).toMatchObject({ changed: ['the secret of service.api_key_file'], refused: null });
    await world.daemon.current()?.tick();
    expect(await status()).toMatchObject({ daemon: { key_refused: null } });
  });

  it('keeps the old configuration, and the daemon that runs, where the new one is wrong', async () => {
    await using world = await stage();
    const before = world.daemon.current();
    world.breaks(
      new CataloguedError('configuration', 'catalogued.yaml has a problem:', {
        exitCode: 78,
        details: ['line 3: cadence.product: unknown key'],
        hint: 'fix the problems',
      }),
    );
    expect(await world.reload()).toMatchObject({
      reloads: 0,
      refused: { exit_code: 78, details: ['line 3: cadence.product: unknown key'], hint: 'fix the problems' },
    });
    expect(world.daemon.current()).toBe(before);
    expect(await world.client.call({ operation: 'GET /v1/doctor' })).toContainEqual({
      name: 'last reload',
      verdict: 'wrong',
      found: 'the old configuration stays: catalogued.yaml has a problem: line 3: cadence.product: unknown key',
      advice: 'fix the problems; then catalogued reload',
    });
    expect(world.lines()).toContainEqual(
      expect.objectContaining({ level: 'error', msg: 'configuration not reloaded: the old one stays' }),
    );
  });

  it('is refused as a whole where a key takes a restart, and names it', async () => {
    await using world = await stage();
    const before = world.daemon.current();
    world.says({ mirror: { path: './elsewhere.db' }, cadence: { images: '3d' } });
    expect(await world.reload()).toMatchObject({
      refused: { exit_code: 78, details: expect.arrayContaining(['mirror.path has changed']) },
    });
    expect(world.daemon.current()).toBe(before);
  });

  it('opens a listener that is new, and closes one that is no longer named', needs('time'), async () => {
    await using world = await stage();
    const secrets = { storefront_token: createSecret('a'.repeat(32)) };
    world.says({ storefront: { listen: '127.0.0.1:0' } }, secrets);
    await world.reload();
    const address = world.daemon.current()?.storefront ?? '';
    expect((await fetch(`${address}/v1/changes`)).status).toBe(401);
    world.says({});
    await world.reload();
    await expect(fetch(`${address}/v1/changes`)).rejects.toThrow('fetch failed');
  });
});

it('the keys that take a restart stand in docs/operating.md', () => {
  const text = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const [, named = ''] = /A\s+restart\s+is\s+needed\s+for([^;]*);/.exec(text) ?? [];
  expect([...named.matchAll(/`([^`]+)`/g)].map(([, key]) => key).sort()).toEqual([...restartKeys].sort());
});

describe('across reloads', () => {
  it('every request is answered, by an old or a new daemon', needs('time'), async () => {
    await using world = await stage();
    const answers: unknown[] = [];
    let going = true;
    const askers = Array.from({ length: 4 }, async () => {
      while (going) answers.push(await world.client.call({ operation: 'GET /v1/schedule' }));
    });
    for (let days = 2; days < 6; days += 1) {
      world.says({ cadence: { images: `${days}d` } });
      expect(await world.reload()).toMatchObject({ refused: null });
      expect(await world.client.call({ operation: 'GET /v1/reload' })).toMatchObject({ reloads: days - 1 });
    }
    going = false;
    await Promise.all(askers);
    expect(answers.length).toBeGreaterThan(3);
    expect(answers.filter((answer) => answer === null)).toEqual([]);
  });

  it('no other daemon can take the files in between', async () => {
    await using world = await stage();
    const { config } = world.daemon.current() ?? {};
    if (config === undefined) throw new Error('no daemon runs');
    const taken: unknown[] = [];
    let going = true;
    const thief = (async () => {
      while (going) {
        try {
          using _ = holdFiles(config);
          taken.push('taken');
        } catch (error) {
          taken.push((error as CataloguedError).code);
        }
        await setImmediate();
      }
    })();
    world.says({ cadence: { images: '2d' } });
    expect(await world.reload()).toMatchObject({ reloads: 1, refused: null });
    going = false;
    await thief;
    expect(new Set(taken)).toEqual(new Set(['already-running']));
    // When it has ended for good it can (control).
    await world.daemon[Symbol.asyncDispose]();
    using _ = holdFiles(config);
  });

  it('each delivery that is answered 200 is stored, and none is refused', async () => {
    const receiver = { listen: '127.0.0.1:0', public_url: 'http://127.0.0.1:1/hooks' };
    await using world = await stage({ receiver }, { receiver_secret: createSecret('m'.repeat(32)) });
    const inbox = () => world.daemon.current()?.inbox;
    const epoch = inbox()?.addresses.current('all', systemClock.now()) ?? 0;
    const url = `${world.daemon.current()?.receiver}/hooks/${inbox()?.addresses.token('all', epoch)}`;
    const statuses: number[] = [];
    let going = true;
    const posters = Array.from({ length: 4 }, async () => {
      while (going) statuses.push((await fetch(url, { method: 'POST', body: '{}' })).status);
    });
    for (let days = 2; days < 6; days += 1) {
      world.says({ receiver, cadence: { images: `${days}d` } });
      expect(await world.reload()).toMatchObject({ refused: null });
    }
    going = false;
    await Promise.all(posters);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(inbox()?.deliveries.counts().received).toBe(statuses.length);
  });

  it('a daemon that ends and starts again refuses some of them (control)', needs('time'), async () => {
    using place = temporaryDirectory();
    const receiver = { listen: `127.0.0.1:${await freePort()}`, public_url: 'http://127.0.0.1:1/hooks' };
    const config = testConfig(
      place.path,
      'http://127.0.0.1:9',
      { receiver },
      { receiver_secret: createSecret('m'.repeat(32)) },
    );
    const start = () => startDaemon(testMachine(), config);
    let daemon = await start();
    const { addresses } = daemon.inbox;
    const token = addresses.token('all', addresses.current('all', systemClock.now()));
    let going = true;
    let refused = 0;
    const poster = (async () => {
      const url = `http://${receiver.listen}/hooks/${token}`;
      while (going) await fetch(url, { method: 'POST', body: '{}' }).catch(() => (refused += 1));
    })();
    await daemon[Symbol.asyncDispose]();
    daemon = await start();
    going = false;
    await poster;
    await daemon[Symbol.asyncDispose]();
    expect(refused).toBeGreaterThan(0);
  });

  it(
    'that waits for another one is not begun once the daemon ends, which lets go of its files',
    needs('time'),
    async () => {
      const world = await stage();
      world.says({ cadence: { images: '2d' } });
      world.daemon.begin();
      world.says({ cadence: { images: '3d' } });
      world.daemon.begin();
      await world.daemon[Symbol.asyncDispose]();
      const started = () => world.lines().filter(({ msg }) => msg === 'daemon started').length;
      const before = started();
      await world.daemon.settled();
      expect(started()).toBe(before);
      expect(world.daemon.last()).toMatchObject({ reloads: 1, changed: ['cadence.images'] });
      await world[Symbol.asyncDispose]();
    },
  );

  it('no more calls are made than the ceiling allows for the time, and one burst', needs('time'), async () => {
    const budget = { requests_per_second: 20, concurrency: 4 };
    const began = systemClock.monotonic();
    await using world = await stage({ budget });
    const { calls } = world.sandbox;
    for (let days = 2; days < 5; days += 1) {
      await calls.reached(calls.counts().calls + 4);
      world.says({ budget, cadence: { images: `${days}d` } });
      expect(await world.reload()).toMatchObject({ refused: null });
    }
    await calls.reached(calls.counts().calls + 4);
    const seconds = (systemClock.monotonic() - began) / 1000;
    expect(calls.counts().calls).toBeLessThanOrEqual(20 * seconds + 2);
  });
});
