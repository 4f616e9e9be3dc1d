import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { concludeResync } from '../src/commands/resync/wait.ts';
import { createSecret } from '../src/config/secrets.ts';
import { requestResync, resyncResources } from '../src/cycle/request-resync.ts';
import { probeAlone, probeThrough } from '../src/daemon/probing.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { createLog } from '../src/kernel/log.ts';
import type { ConditionCode } from '../src/says/conditions/table.rules.ts';
import { verdictOf } from '../src/says/status/verdict.ts';
import { canary, canaryMark } from './fakes/canary.ts';
import { capturedIo } from './fakes/captured-io.ts';
import { startJobs } from './fakes/daemon-jobs.ts';
import { differentHarness } from './fakes/different-harness.ts';
import { type Difference, differentService } from './fakes/different-service.ts';
import { fastClock } from './fakes/fast-clock.ts';
import { runHere } from './fakes/run-here.ts';
import { keyShape, pagesFromZero, queryKeyShape, variantsByQuery } from './fakes/service-shapes.ts';
import { startSandbox } from './fakes/start-sandbox.ts';
import { testConfig, writeTestConfig } from './fakes/test-config.ts';
import { testMachine } from './fakes/test-machine.ts';
import { temporaryDirectory } from './fakes/test-mirror.ts';

/*
 * Services that differ from the specification as services do. What a key of `service.profile` describes is mirrored as
 * from any other service. What no key describes is refused in words, and never
 * taken for a catalogue: it takes an adapter (test/adapter).
 */

const hour = 3_600_000;
const never = new AbortController().signal;

interface Deviation {
  readonly service: string;
  readonly difference: Difference;
  readonly profile: object;
}

const followed: readonly Deviation[] = [
  {
    service: 'takes the bare key in a header of its own',
    difference: keyShape(
      canary.key,
      ({ headers }) => headers['x-api-key'] === canary.key && headers.authorization === undefined,
    ),
    profile: { authorization: { header: 'X-Api-Key', scheme: null } },
  },
  {
    service: 'takes the key in the query',
    difference: queryKeyShape(canary.key),
    profile: { authorization: { parameter: 'api_key' } },
  },
  {
    service: 'counts the pages of a list from 0',
    difference: pagesFromZero,
    profile: { first_page: 0 },
  },
  {
    service: 'has the variants of a product at ?product_id=',
    difference: variantsByQuery,
    profile: { paths: { variants: '/v2/product-variants?product_id={product_id}' } },
  },
];

interface Refused {
  readonly service: string;
  readonly difference: Difference;
  readonly settings?: object;
  /** Left out: `answers-unusable`. */
  readonly code?: ConditionCode;
  /** What `status`, the page and the alert say after the heading. */
  readonly says: RegExp;
  /** The assumption of `probe`, and what it says of the service. */
  readonly probed: readonly [name: string, seen: RegExp];
  /** What follows from it, where a key describes the service; left out: none does. */
  readonly profile?: object;
}

type Row = Record<string, unknown>;

const rowsAs = (row: (each: Row) => Row): Difference => ({
  answer: (json) =>
    Array.isArray(json.products) ? { ...json, products: json.products.map((each) => row(each as Row)) } : undefined,
});

/** The list is read from `cursor` or `offset` on: a page number means nothing to it. */
const ignoresPages = (name: string): Difference => ({
  request: ({ url: { searchParams } }) => {
    if (searchParams.has('page')) searchParams.set('page', '1');
    return null;
  },
  answer: ({ pagination, ...json }) => (pagination === undefined ? undefined : { ...json, [name]: 'b3Blbg' }),
});

const refused: readonly Refused[] = [
  {
    service: 'has the rows of the list under data',
    difference: {
      answer: ({ products, ...json }) => (products === undefined ? undefined : { ...json, data: products, meta: {} }),
    },
    says: /members: .*data, meta; expected: products/,
    probed: ['shape of the list', /members: .*data, meta; expected: products/],
  },
  {
    service: 'calls the id of a product product_id',
    difference: rowsAs(({ id, ...row }) => ({ product_id: id, ...row })),
    code: 'list-incomplete',
    says: /0 of 12 products; 12 rows could not be used: row without id, it has product_id, language/,
    probed: ['shape of the list', /10 of 10 rows without an id; members of one: product_id, .*; expected: id/],
  },
  {
    service: 'pages by a cursor',
    difference: ignoresPages('next_cursor'),
    says: /same-page: page 2 is page 1 once more, the page number is ignored; members: .*next_cursor/,
    probed: ['list order', /page 2 is page 1 once more; members: .*next_cursor/],
  },
  {
    service: 'pages by an offset',
    difference: ignoresPages('next_offset'),
    says: /same-page: page 2 is page 1 once more, the page number is ignored; members: .*next_offset/,
    probed: ['list order', /page 2 is page 1 once more; members: .*next_offset/],
  },
  {
    service: 'takes the language from a header',
    difference: {
      request: ({ url: { searchParams } }) => {
        searchParams.delete('lang');
        return null;
      },
    },
    settings: { languages: ['en', 'nl'] },
    says: /asked for language nl, all 10 rows are in en/,
    probed: ['language', /nl: en/],
  },
  {
    service: 'counts the pages from 0, and nobody has configured it',
    difference: pagesFromZero,
    code: 'list-incomplete',
    says: /the list is incomplete: 2 of 12 products/,
    probed: ['first page', /page 0 has 10 rows that page 1 lacks/],
    profile: { first_page: 0 },
  },
];

describe('a service that', () => {
  it.each(followed)('$service is mirrored', async ({ difference, profile }) => {
    await using harness = await differentHarness(difference, { profile });
    await harness.runUntil(harness.isFilled);
    expect(harness.products().length).toBe(12);
    const { differences, first, products } = await harness.compare();
    expect({ differences, first, products }).toEqual({ differences: 0, first: [], products: 12 });
    expect(harness.status().records.failing).toBe(0);
  });
});

describe('a service that cannot be followed', () => {
  it.each(refused)('$service: it is never green, and the words name it', async (refusal) => {
    const { difference, settings = {}, code = 'answers-unusable', says, probed, profile } = refusal;
    await using harness = await differentHarness(difference, settings);
    const { daemon, clock } = harness;
    const job = requestResync(daemon.sync, { resources: resyncResources, product_ids: [], from: null, to: null });
    const state = () => daemon.mirror.schedule.jobs.find({ job_id: job.job_id });
    await harness.runUntil(() => state()?.left === 0);
    // At once, and after the retries of an hour.
    const readStatus = async () => await daemon.status.shown();
    expect((await readStatus()).conditions[0]?.code).toBe(code);
    await harness.live(hour);
    // A resync that waits ends with 69.
    const ended = state();
    expect(ended?.failed).toBeGreaterThan(0);
    if (ended !== null)
      expect(() =>
        concludeResync(
          capturedIo(),
          ended,
          { short_lists: daemon.mirror.schedule.shortLists.all(), held: [] },
          clock.now(),
        ),
      ).toThrow(expect.objectContaining({ exitCode: 69 }));
    // The running daemon is not ready, and says why with an example.
    expect(daemon.mirror.filledAt()).toBeNull();
    const status = await readStatus();
    expect(verdictOf(status, clock.now()).reasons.join('\n')).toMatch(says);
    const [first] = status.conditions;
    expect(first).toMatchObject({ code });
    expect(first?.says).toMatch(says);
    // Names of members are all that is quoted.
    const [{ id = 0, title = '' } = {}] = harness.sandbox.world.visible();
    expect(first?.says).not.toContain(String(id));
    expect(first?.says).not.toContain(title);
    // The probe names it, and ends with 69.
    const report = await harness.drive(
      probeThrough({ raw: daemon.raw, clock }, daemon.config, never, { calls_a_second: 10 }),
    );
    const [name, seen] = probed;
    expect(report.findings.find((each) => each.name === name)?.seen).toMatch(seen);
    if (profile === undefined)
      expect(report.unusable).toMatchObject({ code: 'not-followed', message: expect.stringMatching(seen) });
    else expect(report.profile).toMatchObject(profile);
  });
});

describe('a key in the query', () => {
  it('is in no file, no log line and no output, although the service repeats it in every answer', async () => {
    using directory = temporaryDirectory();
    const { path } = directory;
    // What an address and JSON write in other ways.
    const key = `${canary.key}/+"`;
    await using sandbox = await startSandbox({ products: 3 });
    let sent = 0;
    await using service = await differentService(sandbox.url, {
      request: ({ url }) => {
        if (url.searchParams.get('api_key') !== key) return { status: 401 };
        sent += 1;
        const body = { success: false, error: 'not_found', message: `No ${url.pathname}${url.search} for ${key}` };
        if (/experiences$|notification/.test(url.pathname)) return { status: 404, body };
        // Every read of one product is redirected to where it was.
        if (/checkout_information$/.test(url.pathname)) return { status: 302, headers: { location: String(url) } };
        return null;
      },
      answer: (json, { url }) => {
        const links = { self: String(url), raw: key };
        const { products, product } = json as { products?: object[]; product?: object };
        return {
          ...json,
          ...links,
          ...(products === undefined ? {} : { products: products.map((row) => ({ ...row, ...links })) }),
          ...(product === undefined ? {} : { product: { ...product, ...links } }),
        };
      },
    });
    const profile = { authorization: { parameter: 'api_key' } };
    const log = { level: 'trace' };
    const config = writeTestConfig(path, service.url, { service: { profile }, log });
    const loaded = testConfig(path, service.url, { service: { profile } }, { api_key: createSecret(key) });
    const printed: string[] = [];
    const run = async (...args: string[]) => {
      const ran = await runHere(['--config', config, ...args], { env: { CATALOGUED_API_KEY: key } });
      printed.push(ran.stdout, ran.stderr);
      return ran.code;
    };
    // A mirror of products whose own reads are redirected: the failure is stored, printed and explained.
    await using jobs = await startJobs(
      testMachine({ log: createLog('trace', { write: (line: string) => printed.push(line) } as never) }),
      loaded,
    );
    const pass = jobs.run('pass');
    const [id = 0] = sandbox.world.visible().map((product) => product.id);
    const { records } = jobs.daemon.mirror.schedule;
    while (records.fill().failing === 0 || records.fill().never_fetched > records.fill().failing)
      await systemClock.sleep(20);
    jobs.stop();
    await pass;
    printed.push(JSON.stringify(await jobs.daemon.status.shown()));
    await jobs[Symbol.asyncDispose]();
    const probed = await probeAlone(testMachine({ clock: fastClock(20) }), loaded, never);
    expect(probed.recorded.length).toBeGreaterThan(10);
    printed.push(JSON.stringify(probed));
    for (const args of [['status'], ['status', '--json'], ['explain', String(id)], ['explain', String(id), '--json'], ['doctor'], ['bugreport', '--output', join(path, 'report.tar.gz')], ['config', 'show']])
      await run(...args); // biome-ignore format: a list
    const report = gunzipSync(readFileSync(join(path, 'report.tar.gz'))).toString('latin1');
    const files = readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    const all = [...printed, report, ...files].join('\n');
    expect(all.includes(canaryMark) ? all.slice(all.indexOf(canaryMark) - 300).slice(0, 400) : '').toBe('');
    // The controls: it was sent, and where it was repeated stands what takes its place.
    expect(sent).toBeGreaterThan(20);
    expect(files.join('\n')).toContain('[key]');
    expect(all).toContain('redirect');
  });
});
