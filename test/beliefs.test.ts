import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { configKeys } from '../src/config/json-schema.ts';
import { requestResync } from '../src/cycle/request-resync.ts';
import { probeAlone } from '../src/daemon/probing.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { openMirrorForReading } from '../src/mirror/sql/files.ts';
import type { SandboxOptions } from '../src/sandbox/sandbox.ts';
import { conditionTable } from '../src/says/conditions/table.rules.ts';
import type { ProbeReport } from '../src/says/probe/probe.ask.ts';
import { readStatus } from '../src/says/status/status.store.ts';
import { section } from './documents.ts';
import { startJobs } from './fakes/daemon-jobs.ts';
import { type Difference, differentService } from './fakes/different-service.ts';
import { fastClock } from './fakes/fast-clock.ts';
import { needs } from './fakes/needs.ts';
import { notifiedHarness } from './fakes/notified-harness.ts';
import { pagesFromZero } from './fakes/service-shapes.ts';
import { startSandbox } from './fakes/start-sandbox.ts';
import { subscriptionHarness } from './fakes/subscription-harness.ts';
import { testConfig } from './fakes/test-config.ts';
import { testMachine } from './fakes/test-machine.ts';
import { temporaryDirectory } from './fakes/test-mirror.ts';
import { thorough } from './fakes/thorough.ts';
import type { Need } from './fakes/tools.ts';
import { filledHarness } from './fakes/virtual-harness.ts';

/*
 * Who wrote the assumption? For every default of `service.profile`, for the constants beside it, and for what else is assumed:
 * the service does otherwise, and this is what the operator then sees. The same list stands in docs/reference/assumptions.md.
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const never = new AbortController().signal;

interface Belief {
  readonly belief: string;
  /** What the service does instead. */
  readonly otherwise: string;
  /** What is then seen, as docs/reference/assumptions.md has it. */
  readonly seen: string;
  /** What it runs. */
  readonly runs?: readonly Need[];
  shows(): Promise<void>;
}

/** What a probe says of a service that differs. */
async function probed(
  difference: Difference,
  { sandbox: options = {}, profile = {} }: { sandbox?: Partial<SandboxOptions>; profile?: object } = {},
): Promise<ProbeReport> {
  using directory = temporaryDirectory();
  const clock = fastClock(20);
  await using sandbox = await startSandbox({ clock, products: 150, ...options });
  await using service = await differentService(sandbox.url, difference);
  const more = { service: { profile: { authorization: { header: null }, ...profile } } };
  const config = testConfig(directory.path, service.url, more);
  return await probeAlone(testMachine({ clock }), config, never);
}

/** Expects of a difference that the probe names it under `name`, and that this part of the profile follows. */
function told(
  difference: Difference,
  name: string,
  says: RegExp,
  part: object | null = null,
  options?: Parameters<typeof probed>[1],
): () => Promise<void> {
  return async () => {
    const { findings, profile } = await probed(difference, options);
    const found = findings.find((each) => each.name === name);
    expect(found).toMatchObject({ verdict: 'otherwise' });
    expect(`${found?.seen} → ${found?.means}`).toMatch(says);
    if (part !== null) expect(profile).toMatchObject(part);
  };
}

/** Expects that the service cannot be used at all, with these words. */
function refused(difference: Difference, says: RegExp, options?: Parameters<typeof probed>[1]): () => Promise<void> {
  return async () => {
    const { unusable } = await probed(difference, options);
    expect(`${unusable?.code}: ${unusable?.message}`).toMatch(says);
  };
}

/** Expects that a fill leaves failures of these words in `status`. */
function failing(
  options: Partial<SandboxOptions>,
  profile: object,
  failure: { resource: string; failure: RegExp },
  difference: Difference = {},
): () => Promise<void> {
  return async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 3, ...options });
    await using service = await differentService(sandbox.url, difference);
    const more = { service: { profile: { authorization: { header: null }, ...profile } } };
    await using jobs = await startJobs(testMachine(), testConfig(directory.path, service.url, more));
    const db = openMirrorForReading(jobs.daemon.config.mirror.path);
    using until = systemClock.deadline(20_000);
    const seen = () => readStatus(db, systemClock.now()).failures;
    const working = jobs.run('pass');
    while (!seen().some((each) => each.resource === failure.resource) && !until.signal.aborted)
      await systemClock.sleep(20);
    const found = seen();
    db.close();
    jobs.stop();
    await working;
    expect(found).toContainEqual(
      expect.objectContaining({ resource: failure.resource, failure: expect.stringMatching(failure.failure) }),
    );
  };
}

/** Adds so many MiB to each answer of a path. */
const padded = (path: RegExp, size: number): Difference => ({
  answer: (json, { url }) => (path.test(url.pathname) ? { ...json, padding: ' '.repeat(size * 1024 ** 2) } : undefined),
});

const key = (header: string, scheme: string): Difference => ({
  request: ({ headers }) => (headers[header]?.toString().startsWith(scheme) ? null : { status: 401 }),
});
const withKey = { profile: { authorization: {} } };
const lacks = (path: RegExp): Difference => ({
  request: ({ url }) => (path.test(url.pathname) ? { status: 404 } : null),
});
/** The service does not know a parameter of this name. */
const unknown = (name: string): Difference => ({
  request: ({ url }) => {
    url.searchParams.delete(name);
    return null;
  },
});

const beliefs: readonly Belief[] = [
  {
    belief: 'authorization.header',
    otherwise: 'the key belongs into another header',
    seen: '`probe`, `resync` and `doctor`: the service refuses the key (401); exit 69',
    shows: refused(key('x-api-key', ''), /^key-refused: it refuses the key \(401\)/, withKey),
  },
  {
    belief: 'authorization.scheme',
    otherwise: 'the word before the key is Bearer, or there is none',
    seen: 'the same',
    shows: refused(key('authorization', 'Bearer '), /^key-refused/, withKey),
  },
  {
    belief: 'authorization.parameter',
    otherwise: 'the key belongs into the query',
    seen: 'the same',
    shows: refused(
      { request: ({ url }) => (url.searchParams.has('api_key') ? null : { status: 401 }) },
      /^key-refused/,
      withKey,
    ),
  },
  {
    belief: 'paths.products',
    otherwise: 'the list is elsewhere',
    seen: '`probe`: the product list is not answered: 404; exit 69',
    shows: refused(lacks(/^\/v2\/products$/), /^no-list: the product list is not answered: 404/),
  },
  {
    belief: 'paths.product',
    otherwise: 'there is no single product',
    seen: '`probe`: GET product otherwise, `paths: { product: null }`; `status`: not offered',
    shows: told(lacks(/^\/v2\/products\/\d+$/), 'GET product', /not offered/, { paths: { product: null } }),
  },
  {
    belief: 'paths.checkout_information',
    otherwise: 'it is elsewhere',
    seen: '`probe`: GET checkout_information otherwise; never filled, `status` counts the failures',
    shows: told(lacks(/checkout_information$/), 'GET checkout_information', /check service.profile.paths/),
  },
  {
    belief: 'paths.availability',
    otherwise: 'it is elsewhere',
    seen: '`probe`: GET availability otherwise; never filled, `status` counts the failures',
    shows: told(lacks(/availability$/), 'GET availability', /check service.profile.paths.availability/),
  },
  {
    belief: 'paths.variants',
    otherwise: 'it is elsewhere, or not for this key',
    seen: '`probe`: GET product-variants otherwise, `paths: { variants: null }`',
    shows: told(lacks(/product-variants$/), 'GET product-variants', /not offered/, { paths: { variants: null } }),
  },
  {
    belief: 'paths.experiences',
    otherwise: 'there are none',
    seen: '`probe`: GET experiences otherwise, `paths: { experiences: null }`; `status`: not offered',
    shows: told(lacks(/experiences$/), 'GET experiences', /not offered/, { paths: { experiences: null } }),
  },
  {
    belief: 'paths.tags',
    otherwise: 'there are none',
    seen: '`probe`: GET tags otherwise, `paths: { tags: null }`; `status`: not offered',
    shows: told(lacks(/tags$/), 'GET tags', /not offered/, { paths: { tags: null } }),
  },
  {
    belief: 'paths.subscription',
    otherwise: 'it is elsewhere',
    seen: '`subscription list`: refused (404); condition “Failing”',
    shows: async () => {
      await using at = await subscriptionHarness();
      at.service.verify = () => ({ status: 404, error_code: 'not_found' });
      await at.live(2 * hour, 10 * minute);
      expect(at.row()?.failure).toMatch(/^refused: .*not_found/);
      expect(at.noticed()).toEqual(['subscription-failing']);
    },
  },
  {
    belief: 'subscription_reads',
    otherwise: 'it cannot be read',
    seen: '`probe`: GET subscription otherwise; `status`: not offered, and the answer to the PUT is believed',
    shows: async () => {
      await told(
        { request: ({ url }) => (/notification|nowhere/.test(url.pathname) ? { status: 405 } : null) },
        'GET subscription',
        /405: not offered/,
      )();
      await using at = await subscriptionHarness();
      at.service.lacks.set('read', 405);
      await at.work.maintain(never);
      await at.live(2 * hour, 10 * minute);
      expect(at.missing()).toEqual(['subscription']);
      expect(at.row()).toMatchObject({ status: 'active', failure: null });
    },
  },
  {
    belief: 'paths.reactivate',
    otherwise: 'there is none',
    seen: '`status`: not offered; a degraded subscription is put again',
    shows: async () => {
      await using at = await subscriptionHarness();
      at.service.lacks.set('reactivate', 404);
      await at.work.maintain(never);
      await at.live(hour + minute, 10 * minute);
      const held = at.service.held.get('all');
      if (held !== undefined) held.status = 'degraded';
      await at.live(2 * hour, 10 * minute);
      expect(at.service.puts().length).toBeGreaterThanOrEqual(2);
      expect(at.missing()).toEqual(['reactivate']);
    },
  },
  {
    belief: 'parameters.page',
    otherwise: 'it is called otherwise',
    seen: '`probe`: page 2 is page 1 once more; exit 69. Never filled, condition “Answers”',
    shows: told(unknown('page'), 'list order', /page 2 is page 1.*parameters\.page/),
  },
  {
    belief: 'parameters.page_size',
    otherwise: 'it is called otherwise',
    seen: '`probe`: 10 rows of 100, `page_size: 10`; a walk takes ten times the calls',
    shows: told(unknown('page_size'), 'page size', /^10 rows of 100/, { page_size: 10 }),
  },
  {
    belief: 'parameters.language',
    otherwise: 'it is called otherwise',
    seen: '`probe`: nl is answered in another',
    shows: told(unknown('lang'), 'language', /nl is answered in another: check service.profile.parameters.language/),
  },
  {
    belief: 'parameters.currency',
    otherwise: 'it is called otherwise',
    seen: '`probe`: USD is answered in another; no price of it is shown',
    shows: told(unknown('currency'), 'currency', /USD is answered in another/),
  },
  {
    belief: 'parameters.from',
    otherwise: 'it is called otherwise',
    seen: '`probe`: the dates asked for are ignored; only the span that was answered counts',
    shows: told(unknown('start_date'), 'dates asked for', /was answered with/),
  },
  {
    belief: 'parameters.to',
    otherwise: 'it is called otherwise',
    seen: 'the same',
    shows: told(unknown('end_date'), 'dates asked for', /was answered with/),
  },
  {
    belief: 'first_page',
    otherwise: 'the first page is 0',
    seen: '`probe`: page 0 has rows that page 1 lacks, `first_page: 0`; until then condition “List”, never filled',
    shows: told(pagesFromZero, 'first page', /page 0 has 100 rows that page 1 lacks/, { first_page: 0 }),
  },
  {
    belief: 'page_size',
    otherwise: 'fifty rows are the most',
    seen: '`probe`: 50 rows of 100, `page_size: 50`',
    shows: told(
      {
        request: ({ url }) => {
          if (url.searchParams.get('page_size') === '100') url.searchParams.set('page_size', '50');
          return null;
        },
      },
      'page size',
      /^50 rows of 100/,
      { page_size: 50 },
    ),
  },
  {
    belief: 'list_order',
    otherwise: 'it does not know the order',
    seen: '`product_popularity`: no list_place; a call more for each walk',
    shows: async () => {
      using directory = temporaryDirectory();
      await using sandbox = await startSandbox({ products: 3 });
      const more = { service: { profile: { authorization: { header: null }, list_order: 'sort=price' } } };
      await using jobs = await startJobs(testMachine(), testConfig(directory.path, sandbox.url, more));
      await jobs.run('pass');
      const db = openMirrorForReading(jobs.daemon.config.mirror.path);
      const places = db.prepare('SELECT list_place FROM product_popularity').pluck().all();
      db.close();
      expect(places).toEqual([null, null, null]);
    },
  },
  {
    belief: 'list_total',
    otherwise: 'the total counts products that the list leaves out',
    seen: '`probe`: list total otherwise; `resync` 69 and not filled until three lists agree; condition `list-incomplete` until it is `ignore`',
    shows: told(
      {
        answer: ({ pagination, ...json }, { url }) =>
          url.pathname === '/v2/products'
            ? { ...json, pagination: { ...(pagination as object), total: 157 } }
            : undefined,
      },
      'list total',
      /^150 of 157 rows, and page 2 is not full → .*set service.profile.list_total: ignore/,
    ),
  },
  {
    belief: 'days_per_request',
    otherwise: 'seven days are the most',
    seen: '`probe`: capped at 7 days, `days_per_request: 7`; where no answer says so, the log does, and what lies behind is asked for once more',
    shows: told(
      {
        request: ({ url: { searchParams } }) => {
          const last = plusDays(searchParams.get('start_date') ?? '', 6);
          if ((searchParams.get('end_date') ?? '') > last) searchParams.set('end_date', last);
          return null;
        },
        answer: (json, { url: { searchParams } }) =>
          'capped_at' in json ? { ...json, capped_at: plusDays(searchParams.get('start_date') ?? '', 6) } : undefined,
      },
      'days in one answer',
      /: 7 days/,
      { days_per_request: 7 },
    ),
  },
  {
    belief: 'entities_per_subscription',
    otherwise: 'a list of more than two is refused',
    seen: '`subscription list`: refused, with the service’s words; condition “Failing”',
    shows: async () => {
      await using at = await subscriptionHarness();
      at.service.verify = ({ method, body }) =>
        method === 'PUT' && namedIn(body) > 2 ? { status: 400, error_code: 'validation_error' } : null;
      await at.live(2 * hour, 10 * minute);
      expect(at.row()?.failure).toMatch(/^refused: .*validation_error/);
      expect(at.noticed()).toEqual(['subscription-failing']);
    },
  },
  {
    belief: 'notifications.hold',
    otherwise: 'changes are held for days',
    seen: 'condition “Silent”: polls find what nobody announced; what it covers is read as without it',
    shows: async () => {
      await using test = await notifiedHarness({ products: 36, hold_ms: 30 * day }, { cadence: { products: '1d' } });
      const ids = test.ids();
      for (const id of ids.slice(0, 20)) {
        test.harness.sandbox.world.edit(id, { field: 'whats_included', value: `* Nothing ${id}` });
        await test.live(day + hour, hour);
        if (test.noticed().includes('subscription-silent')) break;
      }
      expect(test.noticed()).toContain('subscription-silent');
    },
  },
  {
    belief: 'notifications.retries',
    otherwise: 'nothing is sent again',
    seen: 'after a short downtime nothing (up to 15m is believed to be made up for); a longer one is a gap in `status`, and healed',
    shows: async () => {
      for (const [ms, gaps] of [
        [10 * minute, 0],
        [20 * minute, 1],
      ] as const) {
        await using test = await notifiedHarness({ products: 6 });
        const { sandbox } = test.harness;
        const [id = 0] = test.ids();
        await test.live(minute);
        sandbox.setSending('all', 'none');
        sandbox.world.edit(id, { field: 'description', value: 'Said to nobody.' });
        await test.away(ms);
        sandbox.setSending('all', 'all');
        await test.live(hour);
        expect(
          test.harness.daemon.mirror.push.gaps
            .gaps({ limit: 10 })
            .filter(({ subscription_id }) => subscription_id === null),
        ).toHaveLength(gaps);
        const [{ text } = { text: '' }] = test.query<{ text: string }>(
          `SELECT json_extract(document, '$.description') AS text FROM products WHERE product_id = ${id}`,
        );
        expect(text === 'Said to nobody.').toBe(gaps === 1);
      }
    },
  },
  {
    belief: 'throttle_statuses',
    otherwise: 'it throttles with 420',
    seen: '`probe`: 420 with Retry-After, `throttle_statuses: [429, 503, 420]`; until then failures of single records',
    shows: async () => {
      let calls = 0;
      const difference: Difference = {
        request: () => {
          calls += 1;
          return calls % 5 === 4 ? { status: 420, headers: { 'retry-after': '1' } } : null;
        },
      };
      await told(difference, 'limit', /420 with Retry-After/, { throttle_statuses: [429, 503, 420] })();
    },
  },
  {
    belief: 'retry_after',
    otherwise: 'a pause is always meant for all calls, and each call prolongs it',
    seen: 'condition `service-pause` with one call after a minute, after a 429 also in 2 to 15 minutes; `account` obeys it to its end',
    shows: async () => {
      for (const [retry_after, calls] of [
        ['find-out', 5],
        ['account', 1],
      ] as const) {
        const more = { budget: { requests_per_second: 10, concurrency: 1 }, service: { profile: { retry_after } } };
        await using harness = await filledHarness({ products: 12 }, {}, { conditions: true, later: more });
        const { sandbox, daemon } = harness;
        sandbox.setThrottle({ per_second: 0, retry_after: 'absurd' });
        requestResync(daemon.sync, { resources: ['variants'], product_ids: [], from: null, to: null });
        await harness.live(20 * minute, 5000);
        expect(sandbox.calls.counts().by_status['429']).toBe(calls);
        expect((await daemon.status.shown()).conditions.map(({ code }) => code)).toContain('service-pause');
      }
    },
  },
  {
    belief: 'timeout',
    otherwise: 'an answer takes longer',
    seen: '`status`: deadline among the failures',
    shows: failing(
      { faults: [{ kind: 'delay', ms: 2000, path: 'checkout_information' }] },
      { timeout: '500ms' },
      { resource: 'checkout_information', failure: /^deadline/ },
    ),
  },
  {
    belief: '403 in bursts means throttling',
    otherwise: '403 means that the key has no access to a read',
    seen: '`probe`: 403, not for this key; the daemon takes three of five for throttling and slows down',
    shows: told(
      { request: ({ url }) => (/product-variants$/.test(url.pathname) ? { status: 403 } : null) },
      'GET product-variants',
      /403.*not for this key → ask the service for access/,
      { paths: { variants: null } },
    ),
  },
  {
    belief: 'a connection is accepted within 5 s',
    otherwise: 'connections are accepted later',
    seen: '`probe`: no connection in time; exit 69',
    runs: ['python3'],
    shows: async () => {
      await using silent = await deafServer();
      using directory = temporaryDirectory();
      const profile = { authorization: { header: null }, timeout: '1s' };
      const config = testConfig(directory.path, silent.url, { service: { profile } });
      const { unusable } = await probeAlone(testMachine(), config, never);
      expect(unusable).toEqual({ code: 'unreachable', message: 'no connection in time' });
    },
  },
  {
    belief: 'an answer begins within a quarter of `timeout`',
    otherwise: 'an answer begins later',
    seen: '`status`: deadline among the failures',
    shows: failing(
      { faults: [{ kind: 'hang', path: 'availability' }] },
      { timeout: '4s' },
      { resource: 'availability', failure: /^deadline/ },
    ),
  },
  {
    belief: 'no answer stalls for a sixth of `timeout`',
    otherwise: 'a body stalls for longer',
    seen: 'the same',
    shows: failing(
      { faults: [{ kind: 'drip', ms: 10_000, path: 'availability' }] },
      { timeout: '6s' },
      { resource: 'availability', failure: /^deadline/ },
    ),
  },
  {
    belief: 'a page of the list takes at most three times `timeout`',
    otherwise: 'a page of the list takes longer',
    seen: '`probe`: no complete answer; exit 69. Never filled',
    shows: refused({}, /^unreachable: no complete answer within/, {
      sandbox: { quirks: { slow_ms: 40_000 } },
      profile: { timeout: '10s' },
    }),
  },
  {
    belief: 'a page of the list has at most 32 MiB',
    otherwise: 'a page of the list is larger',
    seen: '`probe`: the product list is not answered: too-large; exit 69. Never filled until `page_size` is smaller',
    shows: refused(padded(/^\/v2\/products$/, 33), /^no-list: .*too-large/),
  },
  {
    belief: 'an answer about a product has at most 4 MiB',
    otherwise: 'an answer about a product is larger',
    seen: '`status`: too-large among the failures',
    shows: failing({}, {}, { resource: 'availability', failure: /^too-large/ }, padded(/\/availability$/, 5)),
  },
  {
    belief: 'no delivery is sent again after `receiver.grace`',
    otherwise: 'an address that was replaced is called for longer',
    seen: 'condition “Address”; the call is answered 404, what it said is read when it is due',
    shows: async () => {
      await using test = await notifiedHarness({ products: 6 });
      const { sandbox } = test.harness;
      const old = sandbox.subscriptions()[0]?.callback_url;
      await test.live(31 * day, hour);
      await test.live(9 * day, hour);
      expect(sandbox.subscriptions()[0]?.callback_url).not.toBe(old);
      const [id = 0] = test.ids();
      await test.harness.drive(sandbox.sendLegacy(id, ['content'], old));
      await test.live(5 * minute);
      expect(test.noticed()).toContain('old-address-used');
    },
  },
  {
    belief: 'a PUT revives a degraded subscription',
    otherwise: 'it stays degraded',
    seen: 'condition “Broken”: what it covers is read as without it',
    shows: async () => {
      await using at = await subscriptionHarness(undefined, { reactivate: false });
      await at.live(minute);
      const held = at.service.held.get('all');
      if (held === undefined) throw new Error('nothing was put');
      Object.defineProperty(held, 'status', { get: () => 'degraded', set: () => undefined });
      at.service.held.set = () => at.service.held;
      await at.live(3 * hour, 10 * minute);
      expect(at.noticed()).toContain('subscription-broken');
    },
  },
];

/** What the specification does not show, in the order of docs/reference/assumptions.md: reads, subscriptions, notifications. */
const openPoints: readonly string[] = [
  'Authentication of the reads',
  'Parameters of the product list',
  'Parameters of the checkout information',
  'Parameters of the availability',
  'Path of the product variants',
  'Fields of a product in the list',
  'Fields of the checkout information',
  'Fields of the availability',
  'Fields of a variant',
  'Errors of the reads',
  'Format of an error',
  'Status and body of a throttled answer',
  'Limits that lead to throttling',
  'Signing algorithm',
  'Claims of a token',
  'Headers of a signed request',
  'Answer to the PUT of a subscription',
  'Errors of creating a subscription',
  'Reading a subscription',
  'Updating a subscription',
  'Cancelling or deleting a subscription',
  'Listing the subscriptions',
  'Status of a working subscription',
  'The way out of degraded',
  'Retries of a notification',
  'Hold time of a notification',
  'Values of reason_code',
  'Values of expected_reopening',
  'What else moves the sale status',
  'Addresses that the service calls from',
  'Other forms of a notification',
  'The older notification system',
];

/** How many products a PUT names: its body is a token. */
function namedIn(body: string): number {
  const payload = Buffer.from(body.split('.')[1] ?? '', 'base64url').toString() || body;
  return (JSON.parse(payload) as { entity_ids?: number[] }).entity_ids?.length ?? 0;
}

function plusDays(date: string, days: number): string {
  return date === '' ? date : new Date(Date.parse(date) + days * day).toISOString().slice(0, 10);
}

/** A port that takes no more connections: its queue is full, and nobody accepts. */
async function deafServer(): Promise<AsyncDisposable & { url: string }> {
  const code =
    "import socket,time;s=socket.socket();s.bind(('127.0.0.1',0));s.listen(0);print(s.getsockname()[1],flush=True);time.sleep(60)";
  const child = spawn('python3', ['-c', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(chunk.toString());
  const queued: Socket[] = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await once(queued[0] as Socket, 'connect');
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of queued) socket.destroy();
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

describe('where the service does otherwise', () => {
  const tried = thorough ? beliefs : beliefs.filter((_, index) => index % 4 === 0);
  for (const { belief, otherwise, shows, runs = [] } of tried) it(`${belief}: ${otherwise}`, needs(...runs), shows);
});

describe('the list of what is believed', () => {
  const profile = configKeys()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('service.profile.'))
    .map((name) => name.slice('service.profile.'.length));

  it('has every default of the profile, and what else is assumed', () => {
    const listed = beliefs.map(({ belief }) => belief);
    expect(listed.filter((each) => /^[a-z_.]+$/.test(each)).sort()).toEqual(profile.sort());
    expect(listed.length - profile.length).toBe(9);
  });

  it('stands in docs/reference/assumptions.md, word by word', () => {
    const table =
      section('Every assumption, and what you see if it is wrong')
        .split('| Believed |')[1]
        ?.split('\n\n')[0]
        ?.split('\n')
        .slice(2) ?? [];
    const named = (belief: string) => (/^[a-z_.]+$/.test(belief) ? `\`${belief}\`` : belief);
    expect(table).toEqual(
      beliefs.map(({ belief, otherwise, seen }) => `| ${named(belief)} | ${otherwise} | ${seen} |`),
    );
  });
});

describe('the open points of the specification', () => {
  const rows = [...section('Open points of the specification').matchAll(/^\| (.+) \|$/gm)]
    .map(([, cells = '']) => cells.split(' | '))
    .slice(1);

  it('have a row each, and no row is about anything else', () => {
    expect(rows.map(([point]) => point)).toEqual(openPoints);
    expect(new Set(openPoints).size).toBe(openPoints.length);
    for (const cells of rows) expect(cells.filter((cell) => cell.trim() !== '')).toHaveLength(4);
  });

  it('name a key that exists, or say that another answer needs code or nothing to configure', () => {
    const keys = new Set(configKeys().map(({ name }) => name));
    const named = rows.map(([point, , otherwise = '']) => ({
      point,
      keys: [...otherwise.matchAll(/`((?:[a-z_]+\.)+[a-z_]+)[^`]*`/g)].map(([, key = '']) => key),
      says: /needs? code|nothing to configure/.test(otherwise),
    }));
    expect(named.flatMap((each) => each.keys).filter((key) => !keys.has(key))).toEqual([]);
    expect(named.filter((each) => each.keys.length === 0 && !each.says)).toEqual([]);
  });

  it('name conditions that exist', () => {
    const text = section('Open points of the specification');
    const abouts = new Set(Object.values(conditionTable).map(({ about }) => about));
    const named = [...text.matchAll(/“([A-Z][a-z]+)”/g)].map(([, about = '']) => about);
    expect(named.filter((about) => !abouts.has(about))).toEqual([]);
    expect(named.length).toBeGreaterThan(5);
  });
});
