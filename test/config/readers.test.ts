import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { knownNames } from '../../src/config/json-schema.ts';
import { secretsOf } from '../../src/config/secrets.ts';
import { warningsOf } from '../../src/config/warnings.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { wallClock } from '../../src/kernel/time/wall-clock.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { publicPem, rsaPem } from '../fakes/signing-keys.ts';
import { startPostgres } from '../fakes/start-postgres.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type KeyReaders, recorded } from './recorded-config.ts';

/* A daemon with everything switched on fills a mirror and runs each of its jobs; every key is read by somebody on the way. */

const readers: KeyReaders = { read: new Map(), copied: new Map() };

/** Asks for something of another host than the address. */
async function askedBy(host: string, address: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  request(address, { headers: { host } }, (response) => response.resume().on('end', resolve))
    .on('error', reject)
    .end();
  await promise;
}

/** The keys that hold a value, those inside lists too. */
function keys(): string[] {
  const names = knownNames();
  return names.filter((name) => !names.some((other) => other.startsWith(`${name}.`)));
}

/** Keys that only what starts a daemon reads, with the text that does: the one in here is alone, and has a log already. */
const startersAlone = {
  'service.adapter': ['src/config/load.ts', 'values.service.adapter'],
  'instance.name': ['src/daemon/instances/instance.ts', 'instance.name ?? hostname()'],
  'log.level': ['src/daemon/reloading.ts', 'log.level = next.config.log.level'],
} as const;

describe('while a daemon runs with everything switched on', needs('time', 'postgres'), () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());

  beforeAll(async () => {
    const { path } = stack.use(temporaryDirectory());
    const secretFile = (name: string, text: string) => {
      const file = join(path, name);
      writeFileSync(file, text, { mode: 0o600 });
      return file;
    };
    const sandbox = stack.use(await startSandbox({ products: 6, key: 'the-key', signing_public_key: publicPem() }));
    const { url } = stack.use(startPostgres());
    const port = await freePort();
    const every = { every: '2h' };
    const config = {
      service: {
        api_key_file: secretFile('api-key', 'the-key'),
        profile: { authorization: { header: 'Authorization', scheme: 'Token' } },
      },
      signing: { key_file: secretFile('signing.pem', rsaPem('pkcs8')) },
      receiver: {
        listen: `127.0.0.1:${port}`,
        public_url: `http://127.0.0.1:${port}/hooks`,
        secret_file: secretFile('receiver-secret', 'r'.repeat(43)),
      },
      subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
      cadence: { availability: { horizon: 124, beyond: { days: 93, every: '8d' } } },
      categories: [
        {
          name: 'top',
          match: { top_sellers: 2 },
          cadence: {
            products: '1d',
            product_detail: '1d',
            checkout_information: '1d',
            variants: '1d',
            images: '1d',
            availability: { near: every, middle: every, far: every, beyond: every },
          },
        },
      ],
      admin: { listen: '127.0.0.1:0', token_file: secretFile('admin-token', 'a'.repeat(64)) },
      storefront: { listen: '127.0.0.1:0', token_file: secretFile('storefront-token', 's'.repeat(64)) },
      images: { files: true, directory: join(path, 'images') },
      snapshot: { every: '1h', path: join(path, 'mirror', 'snapshot.db') },
      backup: { at: '0 3 * * *', directory: join(path, 'backup') },
      database: { url_file: secretFile('database-url', url) },
    };
    const loaded = testConfig(path, sandbox.url, config);
    const watched = recorded(loaded.config, readers);
    const secrets = secretsOf(watched, {});
    const daemon = stack.use(await startDaemon(testMachine(), { ...loaded, config: watched, secrets }));
    await untilFilled(daemon);
    for (const { name } of daemon.schedule.list()) await daemon.schedule.run(name);
    // A price that moves so far is asked again.
    sandbox.faults.add({ kind: 'prices', factor: 100 });
    requestResync(daemon.sync, { resources: ['products'], product_ids: [], from: null, to: null });
    await daemon.schedule.run('pass');
    await askedBy('ops.example.com', daemon.admin[0] ?? '');
  });

  it('every configuration key is read by something that works with it', () => {
    for (const [file, text] of Object.values(startersAlone))
      expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(text);
    const unread = keys().filter((key) => !readers.read.has(key) && !readers.copied.has(key));
    expect(unread).toEqual(Object.keys(startersAlone));
  });
});

it('a key that nothing reads, one that is only checked and one that is only copied are told from a key that is read (control)', () => {
  const found: KeyReaders = { read: new Map(), copied: new Map() };
  const { config } = testConfig('/nowhere', 'http://127.0.0.1:9');
  const watched = recorded(config, found);
  warningsOf(watched);
  expect([...found.read, ...found.copied]).toEqual([]);
  wallClock({ ...watched.maintenance });
  expect([...found.read.keys()]).toEqual([]);
  wallClock(watched.maintenance);
  expect([...found.read]).toEqual([
    ['maintenance.at', 'kernel/time/wall-clock.ts'],
    ['maintenance.zone', 'kernel/time/wall-clock.ts'],
  ]);
});
