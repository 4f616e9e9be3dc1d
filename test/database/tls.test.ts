import { execFileSync } from 'node:child_process';
import { chownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { connectPostgres } from '../../src/database/connect.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { type OwnAuthority, ownAuthority } from '../fakes/own-authority.ts';
import { startPostgres } from '../fakes/start-postgres.ts';

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
