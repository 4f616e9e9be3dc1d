import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { probeCommand } from '../../../src/commands/probe.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { startDaemon } from '../../../src/daemon/daemon.ts';
import { startReloading } from '../../../src/daemon/reloading.ts';
import { capturedIo } from '../../fakes/captured-io.ts';
import { type Difference, differentService } from '../../fakes/different-service.ts';
import { runHere } from '../../fakes/run-here.ts';
import { cursorShape } from '../../fakes/service-shapes.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testConfigText } from '../../fakes/test-config.ts';
import { testMachine } from '../../fakes/test-machine.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

const cursor = fileURLToPath(new URL('../../../config/adapters/cursor.mjs', import.meta.url));

/** A directory with a configuration for a sandbox behind a difference. */
async function stage(difference: Difference, service: object = {}) {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ products: 60 }));
  const different = stack.use(await differentService(sandbox.url, difference));
  const config = join(path, 'catalogued.yaml');
  const configure = (more: object) => {
    const profile = { authorization: { header: null }, page_size: 20 };
    writeFileSync(config, testConfigText(path, different.url, { service: { profile, ...more } }));
  };
  configure(service);
  return { path, config, configure, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function probe(config: string, ...args: string[]) {
  const io = capturedIo({ CATALOGUED_CONFIG: config });
  const run = probeCommand(io, { calls_a_second: 1000 }).exitOverride();
  const error = await run.parseAsync(['node', 'probe', ...args]).then(
    () => null,
    (reason: unknown) => reason as { exitCode: number; message: string; details: string[] },
  );
  return { error, out: io.out() };
}

describe('probe --adapter', () => {
  it('asks the live service through the adapter, and records what an adapter can be tried on without network', async () => {
    await using at = await stage(cursorShape);
    const recorded = join(at.path, 'recorded');
    const live = await probe(at.config, '--adapter', cursor, '--record', recorded);
    expect(live.error).toBeNull();
    expect(live.out).toContain(
      '✓ shape of the list: rows under products, each with an id\n    seen   20 rows with an id',
    );
    expect(live.out).toMatch(/✓ members of the rows: .*\n {4}seen {3}[\d,]+ rows\n/);
    // The service of the test compresses nothing.
    expect(live.out.match(/^≠ .*/gm)).toEqual(['≠ compression: gzip where it is asked for']);

    const offline = await probe(at.config, '--adapter', cursor, '--recorded', recorded);
    expect(offline.error).toBeNull();
    expect(offline.out).toMatch(
      /✓ products: an answer that can be read\n {4}seen {3}GET \/v2\/products \(.*\): 20 rows of 60, and a next page/,
    );
    expect(offline.out).toMatch(/GET \/v2\/products\/\d+\/availability \(.*\): \d+ dates, up to \d{4}-\d{2}-\d{2}/);
    expect(offline.out).toMatch(/0 calls\.\nNothing was sent\.\n$/);
  });

  it('says of recorded answers what an adapter leaves out or mistypes, with the question and an example (69)', async () => {
    await using at = await stage(cursorShape);
    const recorded = join(at.path, 'recorded');
    await probe(at.config, '--adapter', cursor, '--record', recorded);
    const file = join(at.path, 'adapter.mjs');
    const text = readFileSync(cursor, 'utf8');
    writeFileSync(
      file,
      text.replace('...product, id: product_id }', '...product, title: 7, price: undefined, id: product_id }'),
    );
    const mistyped = await probe(at.config, '--adapter', file, '--recorded', recorded);
    expect(mistyped.error).toBeNull();
    expect(mistyped.out).toMatch(
      /≠ members of the rows: .*\n {4}seen {3}products: no row has price, title is no text in \d+ of \d+ rows, such as 7: it is NULL; members of one: language, /,
    );
    writeFileSync(file, text.replace('{ row: data, covers_to: meta.last_date }', '{ row: data.availability }'));
    const broken = await probe(at.config, '--adapter', file, '--recorded', recorded);
    const says = /adapter.mjs: answer for availability \d+ from \S+ to \S+ returns row nothing; expected an object/;
    expect(broken.out).toMatch(says);
    expect(broken.error).toMatchObject({ exitCode: 69, code: 'not-followed', message: expect.stringMatching(says) });
  });

  it('reads answers that were kept by hand', async () => {
    await using at = await stage(cursorShape);
    const kept = { resource: 'products', product_id: null, recorded_on: '2026-11-24', status: 200 };
    const body = { data: [{ product_id: '7', title: 'Lantern Museum' }], meta: { next_cursor: null, total: 1 } };
    writeFileSync(join(at.path, '1.json'), JSON.stringify({ ...kept, body }));
    const { error, out } = await probe(at.config, '--adapter', cursor, '--recorded', at.path);
    expect(error).toBeNull();
    expect(out).toMatch(/GET \/v2\/products \(.*\): 1 row of 1, the last page/);
  });

  it('says of rows that cannot be used that they are left out, and fails where none can (69)', async () => {
    await using at = await stage(cursorShape);
    const kept = { resource: 'products', product_id: null, recorded_on: '2026-11-24', status: 200 };
    const save = (...data: object[]) =>
      writeFileSync(
        join(at.path, '1.json'),
        JSON.stringify({ ...kept, body: { data, meta: { next_cursor: null, total: data.length } } }),
      );
    save({ product_id: '7', title: 'Lantern Museum' }, { title: 'Harbour Tower' });
    const some = await probe(at.config, '--adapter', cursor, '--recorded', at.path);
    expect(some.out).toMatch(/≠ products: .*\n.*: 1 row, and 1 that cannot be used: row without id.*\n.*left out/);
    expect(some.error).toBeNull();
    save({ title: 'Harbour Tower' });
    const none = await probe(at.config, '--adapter', cursor, '--recorded', at.path);
    expect(none.error).toMatchObject({ exitCode: 69, message: expect.stringMatching(/row without id/) });
    writeFileSync(join(at.path, '1.json'), JSON.stringify({ body: {} }));
    const foreign = await probe(at.config, '--adapter', cursor, '--recorded', at.path);
    expect(foreign.error?.message).toMatch(/1\.json is no recorded answer: it lacks resource, status or recorded_on/);
  });

  it('says why a module cannot be used (78)', async () => {
    await using at = await stage(cursorShape);
    const { error } = await probe(at.config, '--adapter', join(at.path, 'nothing.mjs'));
    expect(error).toMatchObject({ exitCode: 78 });
    expect(error?.message).toMatch(/^--adapter: there is no file .*nothing.mjs; expected a module/);
  });

  it('is not for a running daemon (75)', async () => {
    await using at = await stage(cursorShape, { adapter: cursor });
    const loaded = loadConfig({ file: at.config, env: {} });
    await using _ = await startDaemon(testMachine(), loaded);
    expect((await probe(at.config, '--adapter', cursor)).error).toMatchObject({ exitCode: 75 });
  });
});

describe('a daemon with an adapter', () => {
  const own = (path: string) => `export function request(question, settings, standard) {
    const asked = standard.request(question, settings, standard);
    return { ...asked, path: asked.path.replace('/v2/', '${path}') };
  }`;

  it('is told another by a reload, keeps the old one where the new one is wrong, and names what is in use', async () => {
    const asked: string[] = [];
    await using at = await stage({
      request: ({ url }) => {
        asked.push(url.pathname);
        url.pathname = url.pathname.replace(/^\/(one|two)\//, '/v2/');
        return null;
      },
    });
    const file = join(at.path, 'adapter.mjs');
    writeFileSync(file, own('/one/'));
    at.configure({ adapter: file });
    const load = () => loadConfig({ file: at.config, env: {} });
    await using daemon = await startReloading({ machine: testMachine(), load, start: startDaemon });
    const reload = async () => {
      daemon.begin();
      await daemon.settled();
      return daemon.last();
    };
    await expect.poll(() => asked.some((path) => path.startsWith('/one/'))).toBe(true);

    writeFileSync(file, own('/two/'));
    expect(await reload()).toMatchObject({ changed: ['the file of service.adapter'], refused: null });
    await expect.poll(() => asked.some((path) => path.startsWith('/two/'))).toBe(true);

    const { hash } = load().adapter();
    writeFileSync(file, 'export const answer = 7;\n');
    const { refused } = await reload();
    expect(refused?.details.join()).toMatch(/^line \d+: service.adapter: exports answer, which is a number/);

    // The doctor names both: the file as it is now, and what runs.
    const doctor = await runHere(['--config', at.config, 'doctor'], {});
    expect(doctor.stdout).toMatch(
      /✗ {2}adapter +line \d+: service.adapter: exports answer, which is a number; expected a/,
    );
    expect(doctor.stdout).toContain('✓  adapter in use');
    expect(doctor.stdout).toContain(String(hash));

    const output = join(at.path, 'report.tar.gz');
    writeFileSync(file, own('/two/'));
    await runHere(['--config', at.config, 'bugreport', '--output', output], {});
    const report = gunzipSync(readFileSync(output)).toString();
    expect(report).toContain('catalogued-bugreport/adapter.json');
    expect(report).toContain(`"hash": "${hash}"`);
    expect(report).toContain("asked.path.replace('/v2/', '/two/')");
    expect(readdirSync(at.path)).toContain('adapter.mjs');
  });
});
