import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { describe, expect, it, test } from 'vitest';
import type { PageMemory } from '../../src/admin/page/memory.ts';
import { renderPage } from '../../src/admin/page/page.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { DaemonStatus } from '../../src/says/status/daemon-status.ts';
import { withConditions } from '../../src/says/status/verdict.ts';
import { canary } from '../fakes/canary.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { needs } from '../fakes/needs.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { folded, heldDates, hour, known, now, remembered } from './known-status.ts';

/** Everything of a page that a person reads. */
function textOf(status: Omit<DaemonStatus, 'conditions'>, memory = remembered): string {
  const body = renderPage(withConditions(status, now), memory, now, folded).split('<main>')[1] ?? '';
  return body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
}

const refused = { how: 'unreachable', says: 'the connection was refused' } as const;
const empty: typeof known = {
  ...known,
  filled_at: null,
  records: { ...known.records, all: 0 },
  freshness: [],
  images: 0,
  oldest_image_at: null,
  subscriptions: [],
  backup: { ...known.backup, copies: 0, newest: null, made_at: null, bytes: null, tried_at: null },
  jobs: known.jobs.map((job) => ({ ...job, runs: 0, last_run_at: null, last_ms: null })),
  inbox: { ...known.inbox, received: 0, applied: 0, last_delivery_at: null },
  bookable: { currency: null, days: 0, earlier: null },
  last_hour: { ...known.last_hour, changes: 0, products: 0, kinds: [] },
  truth: { audited: 0, outdated: 0, share: null, margin: null, from_at: null, to_at: null, by_tier: [] },
  error_rate: { ...known.error_rate, checks: 0, wrong: 0, orders: 0, rate: null, by_tier: [], worst: [] },
};
const nothing: PageMemory = {
  ...remembered,
  conditions: { watched_since: null, periods: [] },
  changes: [],
  deliveries: [],
};
const [line] = known.freshness;
const late = { ...known, freshness: [{ ...line, fresh: 9, stale: 3, met: 0 as const }] } as typeof known;

describe('the operator page says', () => {
  const cases: [string, typeof known, RegExp[]][] = [
    [
      'that it is up to date',
      known,
      [
        /^ Up to date The last of 84 records was read 0 s ago\. /,
        /All 1 freshness targets are met/,
        /✓ met/,
        /5\.0 %: the mirror was wrong in 1 of 15 checks and 0 of 5 orders/,
        /far 0 0 none yet/,
      ],
    ],
    [
      'which freshness target is missed, and by how much',
      late,
      [
        /^ 3 of 12 records are outdated Error · Freshness: Availability \(near\): 3 of 12 records were not read within 6 h/,
        /Missed freshness targets .* ✗ missed/,
      ],
    ],
    [
      'of a mirror that was never filled what is not known, and nothing else',
      empty,
      [
        /Not filled yet The product list has not been read yet/,
        /None yet: no check/,
        /No image is shown/,
        /No subscription is declared/,
        /Filled not yet/,
      ],
    ],
    [
      'that the service refuses the key',
      { ...known, daemon: { ...known.daemon, key_refused: 'who?' } },
      [/^ The service has refused the key Error · Key: the service refuses it: who\?\. Compare/],
    ],
    [
      'what is held for a person',
      { ...known, held: [heldDates] },
      [
        /^ Changes have been held back for 3 hours Warning · Held: near-dates, near dates all sold out: 812 of 900 records \(90 %, the limit is 90\), such as product 973698, 703295, 100001; the mirror shows what it had \(for 3 h\)\. Ask the service; then type catalogued held approve KIND/,
        /973698\W+24 dates, answered none; .* catalogued held approve near-dates ?catalogued held reject near-dates/,
      ],
    ],
    [
      'of a warning while nothing is outdated that it is up to date, and since when',
      { ...known, daemon: { ...known.daemon, unreachable_since: now - 4 * 60_000, away: refused } },
      [
        /^ Up to date\. The service has been away for 4 minutes Warning · Service: it cannot be reached/,
        /Waits for a person 1 Service/,
      ],
    ],
    [
      'what a shopper sees, beside a week ago, and what changed in the last hour',
      known,
      [
        /Products on sale 11 12 a week ago Bookable days in EUR 1,320 1,410 a week ago Outdated data shown 1\.2 % ± 0\.2 by 15,120 random reads in 7 d Changes, last hour 41 2 dates sold out, 1 date back, 28 prices, 10 others Waits for a person nothing/,
      ],
    ],
    [
      'how far the first fill is, instead of an error',
      { ...empty, records: { ...empty.records, all: 84, never_fetched: 21 } },
      [/^ First fill: 75 % read 21 of 84 records have never been read/],
    ],
    [
      'which operation fails',
      {
        ...known,
        outcomes: [
          {
            operation: 'image-disk',
            last_ok_at: null,
            failed_at: now - hour,
            noticed_at: now,
            affected: 7,
            detail: null,
          },
        ],
      },
      [
        /^ Up to date\. The space for image files has been used up for 1 hour Warning · Images: image files of 7 products cannot be fetched: images\.disk is used up \(for 1 h\)\. Raise/,
      ],
    ],
    [
      'of each job when it ran, how long that took, and when it runs next',
      known,
      [/chores 1 min 40 s ago 12 ms in 20 s ✓ ok/, /integrity 0 4 \* \* \*, UTC none yet none yet in 17 h not run yet/],
    ],
    [
      'which job failed and which is overdue, which changes no headline yet',
      {
        ...known,
        jobs: known.jobs.map((job) =>
          job.every_ms === null ? { ...job, failure: 'no memory' } : { ...job, overdue: 1, next_at: now - hour },
        ),
      },
      [
        /^ Up to date The/,
        /Jobs: chores was due 1 h ago and has not run\./,
        /Jobs: integrity failed: no memory\./,
        /overdue/,
        /✗ failed no memory/,
      ],
    ],
    [
      'that the service is away, for ten seconds as a remark',
      { ...known, daemon: { ...known.daemon, unreachable_since: now - 9_000, away: refused } },
      [/^ Up to date The/, /been unreachable for 9 s/, /Waits for a person nothing/],
    ],
    [
      'that the service is away, and then with what that leads to in the same line',
      { ...late, daemon: { ...known.daemon, unreachable_since: now - hour, away: refused } },
      [
        /^ 3 of 12 records are outdated\. The service has been away for 1 hour Error · Service: it cannot be reached \(the connection was refused\): readers keep what is mirrored \(for 1 h\), hence freshness-missed\./,
      ],
    ],
  ];
  test.each(cases)('%s', (_, status, expected) => {
    for (const words of expected) expect(textOf(status)).toMatch(words);
  });
  it('never “up to date”, “met” and shares of nothing that was not measured', () => {
    expect(textOf(empty, nothing)).not.toMatch(/Up to date|✓ met|are met|%|\d ago/);
  });
});

describe('the operator page has', () => {
  const at = (status: Omit<DaemonStatus, 'conditions'>, view = folded) =>
    renderPage(withConditions(status, now), remembered, now, view);

  it('a field for a search, which no refresh may clear', () => {
    expect(at(known)).toMatch(/<input type="search" id="q"/);
    const refreshing = at(known, { refresh: 30, unfolded: false });
    expect(refreshing).not.toContain('<input');
    expect(refreshing).toContain('<a class="find" href="/product">');
  });
});

it('whatever the service or a stranger has written is text on the page, in every place', () => {
  const hostile = '"><img src=x onerror=alert(1)></style><script>alert(1)</script>\'';
  const strings = new Set<string>();
  const plant = <Value>(value: Value, kept: string[] = []) =>
    JSON.parse(JSON.stringify(value), (key, each: unknown) => {
      if (typeof each !== 'string' || kept.includes(key)) return each;
      strings.add(each);
      return hostile;
    }) as Value;
  const job = { job_id: 1, requested_at: 1, records: 2, left: 1, failed: 0, finished_at: null };
  const kinds = [{ resource: 'variants', edition: 'en', part: 0 }] as const;
  const memory = plant({ ...remembered, resyncs: [{ ...job, selection: { kinds, product_ids: [1] } }] }, ['code']);
  const planted = plant(
    {
      ...withConditions({ ...known, daemon: { ...known.daemon, key_refused: 'no' } }, now),
      failures: [{ resource: 'variants', failure: 'f', records: 1 }],
      records: { ...known.records, failing: 1 },
      jobs: known.jobs.map((job) => ({ ...job, failure: 'f' })),
      gaps: [{ subscription_id: 'all', from_at: 1, to_at: null, products: 0 }],
      outcomes: [
        { operation: 'never heard of', last_ok_at: null, failed_at: 1, noticed_at: now, affected: 1, detail: null },
      ],
      daemon: { ...known.daemon, key_refused: 'no', lanes: { [hostile]: 1 } },
    },
    ['code', 'severity'],
  ) as DaemonStatus;
  const page = renderPage(planted, memory, now, { refresh: 30, unfolded: true });
  expect(strings.size).toBeGreaterThan(10);
  expect(page.match(/<img|<script|<\/style>/g)).toEqual(['</style>']);
  expect(page.match(/&lt;script&gt;/g)?.length).toBeGreaterThan(10);
  expect(page).not.toContain(hostile.slice(0, 8));
});

/** What Chromium makes of an address: the document after loading, and what its console said. */
async function browse(url: string): Promise<{ dom: string; console: string[] }> {
  using home = temporaryDirectory();
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--enable-logging=stderr'];
  const away = [
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
    `--user-data-dir=${home.path}`,
  ];
  const { stdout, stderr } = await promisify(execFile)('chromium', [...flags, ...away, '--dump-dom', url]);
  return { dom: stdout, console: stderr.split('\n').filter((each) => each.includes('CONSOLE')) };
}

describe('in a browser', needs('chromium'), () => {
  it('the page of a live daemon opens with the token, shows its verdict, and offends against nothing', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 6 });
    const config = testConfig(
      directory.path,
      sandbox.url,
      { admin: { listen: '127.0.0.1:0' } },
      { admin_token: createSecret(canary.admin) },
    );
    await using daemon = await startDaemon(testMachine(), config);
    await untilFilled(daemon);
    const db = new Database(daemon.config.mirror.path);
    const failure = '<script>document.title = "taken"</script><b id="planted">x</b>';
    db.prepare("UPDATE _record SET failures = 1, failure = ? WHERE resource = 'variants'").run(failure);
    db.close();
    const address = new URL(daemon.admin[0] ?? '');
    address.username = 'operator';
    address.password = canary.admin;
    // Somebody may have asked seconds ago, before it was filled, and the page may be as old as that.
    const authorization = `Bearer ${canary.admin}`;
    await (await fetch(new URL('/v1/status', daemon.admin[0]), { headers: { authorization } })).text();
    const { dom, console } = await browse(address.href);
    expect(dom).toMatch(/<h1 id="verdict">Up to date<\/h1>/);
    expect(dom).toContain('<title>Up to date – catalogued</title>');
    expect(dom).toContain('&lt;b id="planted"&gt;');
    expect(console).toEqual([]);
    expect(dom).not.toContain(canary.admin);
    const [first] = sandbox.world.visible();
    address.pathname = '/product';
    address.search = `?id=${first?.id}`;
    const one = await browse(address.href);
    // The search finds it by its title, and leads there.
    address.search = `?q=${encodeURIComponent(first?.title ?? '')}`;
    const searched = await browse(address.href);
    expect(searched.dom).toContain(`/product?id=${first?.id}"`);
    expect(searched.console).toEqual([]);
    expect(one.dom).toContain(`<title>${first?.id} `);
    expect(one.dom).toContain('&lt;b id="planted"&gt;');
    expect(one.console).toEqual([]);
  });

  it('a page that breaks its policy would be noticed (control)', async () => {
    const policy = "default-src 'none'";
    await using server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy });
      response.end('<title>t</title><style>p { color: red }</style><p>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { console } = await browse(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(console.join()).toContain('Content Security Policy');
  });
});
