import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../fakes/needs.ts';
import { openReader } from '../../fakes/reader.ts';
import { runHere } from '../../fakes/run-here.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { testConfigText } from '../../fakes/test-config.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import { virtualHarness } from '../../fakes/virtual-harness.ts';

describe('catalogued database', needs('postgres', 'time'), () => {
  const stack = new AsyncDisposableStack();
  let server: StartedPostgres;
  let directory = '';
  let config = '';
  let held = '';
  beforeAll(async () => {
    server = stack.use(startPostgres());
    directory = stack.use(temporaryDirectory()).path;
    const harness = stack.use(
      await virtualHarness({ products: 2, lean: true }, { rows: { publish: true } }, { start: Date.now() }),
    );
    await harness.fill();
    const configFor = (name: string, more = {}) => {
      const path = join(directory, name);
      writeFileSync(path, testConfigText(directory, 'https://api.example.com', more));
      return path;
    };
    const { path, state_dir } = harness.daemon.config.mirror;
    held = configFor('held.yaml', { mirror: { path, state_dir } });
    config = configFor('catalogued.yaml');
    // The same mirror, of no daemon that runs.
    for (const each of ['mirror', 'state']) mkdirSync(join(directory, each));
    const db = new Database(path);
    db.prepare('VACUUM INTO ?').run(join(directory, 'mirror', 'mirror.db'));
    db.close();
  });
  afterAll(() => stack.disposeAsync());
  const run = (args: readonly string[], url: string | undefined = server.url, configured = config) =>
    runHere(['--config', configured, 'database', ...args], { env: url === '' ? {} : { CATALOGUED_DATABASE_URL: url } });

  it('prepares, publishes, compares and gives back, and says each time what stands', async () => {
    expect(await run(['init'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The role catalogued_follower stands.'),
    });
    expect(await run(['check'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/may publish.*both stand.*nothing yet/s),
    });
    expect(await run(['verify'])).toMatchObject({ code: 78, stderr: expect.stringContaining('Try: start the daemon') });
    expect(await run(['import'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^The mirror is published in the schema catalogued of .*: [\d,]+ rows were written/,
      ),
    });
    expect(await run(['check'])).toMatchObject({ stdout: expect.stringContaining('may read what they are for') });
    expect(await run(['import'], server.url, held)).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/^Error: another catalogued holds .*\nTry: stop it first/),
    });
    expect(await run(['verify'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^[\d,]+ rows compared, 0 not published yet/),
    });
    const copy = join(directory, 'given-back.db');
    expect(await run(['export', copy])).toMatchObject({ code: 0 });
    using reader = openReader(copy);
    expect(reader.products({ limit: 10 })).toHaveLength(2);
    expect(await run(['export', copy])).toMatchObject({ code: 78, stderr: expect.stringContaining('stands already') });
  });

  it('gives roles that were made afterwards what they are for, and says before what they lack', async () => {
    server.sql('DROP OWNED BY catalogued_reader; DROP ROLE catalogued_reader; CREATE ROLE catalogued_reader');
    expect(await run(['check'])).toMatchObject({
      stdout: expect.stringMatching(
        /catalogued_reader may not use the schema, .*products.*\(catalogued database init\)/,
      ),
    });
    expect(await run(['init'])).toMatchObject({ stdout: expect.stringContaining('may read what is published') });
    expect(await run(['check'])).toMatchObject({ stdout: expect.stringContaining('may read what they are for') });
  });

  it('says in one line what a database is that cannot be published into', async () => {
    const errors: [string, number, RegExp][] = [
      ['', 78, /no database is configured\nTry: set database.url_file/],
      ['mysql://host/shop', 78, /malformed\nTry: write postgres:/],
      ['postgres://owner@127.0.0.1:9/shop', 69, /cannot be reached/],
      [server.urlOf('nobody'), 77, /refuses this user/],
      [server.urlOf('owner', 'elsewhere'), 78, /has no such database/],
    ];
    for (const [url, code, said] of errors)
      expect(await run(['check'], url)).toMatchObject({ code, stderr: expect.stringMatching(said) });
  });
});
