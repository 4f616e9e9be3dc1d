import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../../src/commands/main.ts';
import { follow } from '../../../src/copies/follow/follower.ts';
import { PublishedRows } from '../../../src/copies/follow/published-rows.ts';
import { connectPostgres } from '../../../src/copies/postgres/connect.ts';
import { SharedDeliveries } from '../../../src/copies/postgres/deliveries.ts';
import { joinInstances } from '../../../src/copies/postgres/instances.ts';
import { Lease, refuseOldTerm } from '../../../src/copies/postgres/lease.ts';
import { Publication } from '../../../src/copies/postgres/publication.ts';
import { instant, systemClock, systemEntropy } from '../../../src/kernel/clock.ts';
import { openMirror } from '../../../src/mirror/mirror.ts';
import { capturedIo } from '../../fakes/captured-io.ts';
import { freePort } from '../../fakes/free-port.ts';
import { needs } from '../../fakes/needs.ts';
import { type OwnAuthority, ownAuthority } from '../../fakes/own-authority.ts';
import { startPostgres } from '../../fakes/start-postgres.ts';
import { testLog } from '../../fakes/test-log.ts';
import { temporaryDirectory, testMirrorOptions } from '../../fakes/test-mirror.ts';

const schema = 'catalogued';

/** In transaction mode the statements of a session are run by whichever connection is free. */
describe(
  'behind pgbouncer in transaction mode, with one connection for all',
  needs('postgres', 'pgbouncer', 'time'),
  () => {
    const stack = new AsyncDisposableStack();
    let directory = '';
    let url = '';
    beforeAll(async () => {
      directory = stack.use(temporaryDirectory()).path;
      chmodSync(directory, 0o777);
      const [port, own_port] = [await freePort(), await freePort()];
      stack.use(startPostgres({ settings: ['listen_addresses=127.0.0.1', `port=${port}`] }));
      writeFileSync(join(directory, 'users.txt'), '"owner" ""\n');
      writeFileSync(
        join(directory, 'pgbouncer.ini'),
        `[databases]
postgres = host=127.0.0.1 port=${port} user=owner
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own_port}
unix_socket_dir =
auth_type = any
auth_file = ${join(directory, 'users.txt')}
pool_mode = transaction
default_pool_size = 1
`,
      );
      // It refuses to run as root.
      const as = process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
      // In a variable: knip takes a literal for a package's command.
      const program = 'pgbouncer';
      const pooler: ChildProcess = spawn(program, [...as, join(directory, 'pgbouncer.ini')], { stdio: 'pipe' });
      stack.defer(async () => {
        pooler.kill('SIGKILL');
        await once(pooler, 'exit');
      });
      url = `postgres://owner@127.0.0.1:${own_port}/postgres`;
    });
    afterAll(() => stack.disposeAsync());

    it('a mirror is published and followed, a lease held, and deliveries stored', async () => {
      await using database = await connectPostgres({ url, schema });
      await using other = await connectPostgres({ url, schema });
      await expect.poll(() => database.query('SELECT 1 AS one').catch(() => null), { timeout: 10_000 }).not.toBeNull();
      await joinInstances(database, schema, { pair_id: 'pair', key_fingerprint: 'k' });
      const lease = new Lease({
        database,
        // Long: what is tried is that all of it goes through one connection, not how fast.
        times: { lease: 10_000, renew: 50, margin: 500 },
        instance: { name: 'a', advertise: null },
        clock: systemClock,
        entropy: systemEntropy,
        log: testLog('silent').log,
      });
      await using leadership = await lease.win(new AbortController().signal);
      const options = testMirrorOptions(directory);
      using mirror = openMirror({ ...options, publish_rows: 'all' });
      using publication = new Publication({
        postgres: other,
        schema,
        mirror_path: options.path,
        now: () => 1,
        newOrigin: () => 'origin',
        fence: (statements) => refuseOldTerm(statements, leadership.term),
      });
      const source = new PublishedRows(other, schema);
      const copy = join(directory, 'copy.db');
      for (let state = 1; state <= 20; state += 1) {
        mirror.transaction(() =>
          mirror.changes.add(
            { product_id: state, kind: 'product_added', detail: {} },
            { sent_at: instant(state), reason: 'notified' },
          ),
        );
        expect(await publication.publish()).toMatchObject({ state });
        const ending = new AbortController();
        const caughtUp = () => ending.abort();
        const following = { source, path: copy, every: 10, clock: systemClock, log: testLog('silent').log, own: 1 };
        await follow({ ...following, caughtUp }, ending.signal);
        expect(leadership.trusted()).toBe(true);
      }
      using copied = openMirror({ ...options, path: copy, pair_id: 'pair' });
      expect(copied.changes.newest()).toBe(20);
      const deliveries = new SharedDeliveries(database);
      const received = { received_at: instant(1), subscription_id: 's', epoch: 1, peer: 'p', content_type: null };
      const each = { ...received, length: 1, truncated: false, body: Buffer.from('x') };
      await Promise.all([deliveries.store([each]), new SharedDeliveries(other).store([each, each])]);
      const found = await deliveries.after({ delivery_id: 0, received_at: null }, 10);
      expect(found?.map(({ delivery_id }) => delivery_id)).toEqual([1, 2, 3]);
    });
  },
);

describe('a PostgreSQL with TLS', needs('postgres', 'openssl', 'time'), () => {
  const stack = new DisposableStack();
  let authority: OwnAuthority;
  let port = 0;
  beforeAll(async () => {
    authority = stack.use(ownAuthority('DNS:localhost'));
    port = await freePort();
    // It takes a key that is its own alone.
    if (process.getuid?.() === 0)
      chownSync(authority.key, Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' })), 0);
    const tls = ['ssl=on', `ssl_cert_file=${authority.cert}`, `ssl_key_file=${authority.key}`];
    stack.use(startPostgres({ settings: ['listen_addresses=127.0.0.1', `port=${port}`, ...tls] }));
  });
  afterAll(() => stack.dispose());

  const urlOf = (host: string, ca: string, mode = 'verify-full') =>
    `postgres://owner@${host}:${port}/postgres?sslmode=${mode}&sslrootcert=${ca}`;
  async function encrypted(url: string): Promise<unknown> {
    await using postgres = await connectPostgres({ url, schema: 'public' });
    const [found] = await postgres.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    return found;
  }

  it('is reached with the authority that has signed it, and with no other one, nor under another name', async () => {
    expect(await encrypted(urlOf('localhost', authority.ca))).toEqual({ ssl: true });
    const untrusted = { code: 'database-tls', exitCode: 78 };
    await expect(encrypted(urlOf('localhost', authority.other_ca))).rejects.toMatchObject(untrusted);
    await expect(encrypted(urlOf('127.0.0.1', authority.ca))).rejects.toMatchObject(untrusted);
    // The control: whoever asks for less is told less.
    expect(await encrypted(urlOf('127.0.0.1', authority.ca, 'verify-ca'))).toEqual({ ssl: true });
    await expect(encrypted(urlOf('localhost', join(authority.directory, 'none.pem')))).rejects.toMatchObject({
      code: 'database-url',
      exitCode: 78,
    });
  });

  it('that cannot be trusted is not followed, which is said in one line', async () => {
    const io = capturedIo();
    const copy = join(authority.directory, 'elsewhere', 'copy.db');
    const code = await main(['follow', '--from', urlOf('localhost', authority.other_ca), copy], io);
    expect({ code, stderr: io.err() }).toEqual({
      code: 78,
      stderr: expect.stringMatching(
        /^Error: the database localhost:\d+\/postgres cannot be trusted: [^\n]+\nTry: [^\n]+\n$/,
      ),
    });
    expect(readdirSync(join(authority.directory, 'elsewhere'))).toEqual([]);
  });
});
