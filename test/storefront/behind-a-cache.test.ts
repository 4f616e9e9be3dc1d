import { execFileSync } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReadOperation } from '../../src/admin/api/reads.ts';
import { operations } from '../../src/admin/api.ts';
import { routeOf } from '../../src/admin/api-routes.ts';
import { listenAt } from '../../src/admin/listening.ts';
import { readRoute, UnsentAnswers } from '../../src/admin/read-route.ts';
import { imageLimitMs } from '../../src/catalogue/image.rules.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { represent } from '../../src/daemon/reading/representation.ts';
import { ViewsClock } from '../../src/daemon/reading/views-clock.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import { sqliteLibrary } from '../../src/kernel/sqlite/read-only.ts';
import { type HttpRead, httpReads } from '../../src/storefront/http/reads.ts';
import { tiers } from '../dates/usual-tiers.ts';
import { document } from '../documents.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { openReader } from '../fakes/reader.ts';
import { startProgram } from '../fakes/run-cli.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { someOf } from '../fakes/thorough.ts';

/* Real caches, configured as docs/http.md says, over an hour in which every few minutes a time begins or an image expires. */

const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());

const date = '2027-03-01';
const begin = Date.parse(`${date}T12:00:00Z`);
const products = [1, 2, 3];
const key = 'pk-one';
/** Each time in minutes of the day: one begins every 4, 5 or 6 minutes. */
const timesOf = (product_id: number) => [...Array(14).keys()].map((index) => 720 + 1 + index * (3 + product_id));
/** An image of each product expires, within a second, at some time of the hour. */
const expiryOf = (product_id: number) => begin + product_id * 17 * 60_000 + 12_345;

/** Moves the clock of this test and of the programs that were started with `library`: seconds between it and the machine's. */
class SharedClock {
  readonly #bytes = Buffer.alloc(8);
  readonly #file: number;
  #ahead_ms = 0;
  readonly env: Record<string, string>;

  constructor(directory: string) {
    const ahead = join(directory, 'ahead');
    writeFileSync(ahead, this.#bytes);
    this.#file = openSync(ahead, 'r+');
    const library = join(directory, 'clock.so');
    const source = join(directory, 'clock.c');
    writeFileSync(source, clockSource);
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source]);
    this.env = { LD_PRELOAD: library, AHEAD: ahead };
  }

  readonly now = (): number => Date.now() + this.#ahead_ms;

  /** Begins an hour anew: for programs that are started after it. */
  set(now: number): void {
    this.#ahead_ms = now - Date.now();
    this.#bytes.writeDoubleLE(this.#ahead_ms / 1000);
    writeSync(this.#file, this.#bytes, 0, 8, 0);
  }

  /** Only forward, also after a pause that was longer than a step: Varnish guards itself against a clock that goes back. */
  passTo(now: number): void {
    if (now > this.now()) this.set(now);
  }
}

/** libfaketime meets jemalloc, which Varnish uses, before it is ready, and nginx empties the environment that it reads. */
const clockSource = `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static const volatile double *ahead;
__attribute__((constructor)) static void begin(void) {
  ahead = mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, open(getenv("AHEAD"), O_RDONLY), 0);
}
int clock_gettime(clockid_t clock, struct timespec *at) {
  int code = syscall(SYS_clock_gettime, clock, at);
  if (ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    long long ns = at->tv_nsec + (long long)(*ahead * 1e9);
    at->tv_sec += ns / 1000000000;
    at->tv_nsec = ns % 1000000000;
  }
  return code;
}
int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`;

let directory = '';
let clock: SharedClock;
/** Calls that reached the daemon. */
const reached = { whole: 0, confirmed: 0 };
let origin = '';
/** The same with a max-age, as it was before. */
let aged = '';

beforeAll(async () => {
  directory = stack.use(temporaryDirectory()).path;
  execFileSync('chmod', ['0755', directory]);
  clock = new SharedClock(directory);
  clock.set(begin);
  const mirror = stack.use(testMirror());
  fill(mirror);
  const views = new ViewsClock(clock.now);
  const reader = stack.use(openReader(mirror.path, { engine: views.engine(sqliteLibrary), now: clock.now }));
  const reads = { represent: async (call: Parameters<typeof represent>[1]) => represent(reader, call, views) };
  const listening = async (more: (app: FastifyInstance) => void) => {
    const settings = { name: 'storefront', listen: '127.0.0.1:0', mode: 0o660 } as const;
    const opened = await listenAt(settings, { clock: systemClock, room: roomFor(null) }, (app) => {
      more(app);
      for (const name of Object.keys(httpReads) as HttpRead[]) {
        const operation = `GET ${httpReads[name].path}` as ReadOperation;
        const route = { name, path: routeOf(operation).url, operation: operations[operation] };
        readRoute(app, route, { reads, unsent: new UnsentAnswers() });
      }
    });
    return stack.use(opened).address;
  };
  origin = await listening((app) =>
    app.addHook('onSend', async (_, reply) => {
      reached[reply.statusCode === 304 ? 'confirmed' : 'whole'] += 1;
    }),
  );
  aged = await listening((app) =>
    app.addHook('onSend', async (_, reply) => {
      const [expires, sent] = ['expires', 'date'].map((name) => Date.parse(String(reply.getHeader(name))));
      reply.removeHeader('expires');
      reply.header('cache-control', `public, max-age=${((expires ?? 0) - (sent ?? 0)) / 1000}, must-revalidate`);
    }),
  );
});

function fill(test: TestMirror): void {
  const { mirror, path } = test;
  putProducts(
    test,
    products.map((product_id) => productOf(product_id, { timezone: 'UTC' })),
    { sent_at: begin },
  );
  mirror.transaction(() => {
    for (const product_id of products)
      mirror.catalogue.availability.store(
        { product_id, currency: 'EUR', from: date, sent_at: instant(begin), now: instant(begin), hash: 'h', today: date, tiers, reason: 'cadence-elapsed', readBefore: false },
        {
          sales_enabled: true, covered_to: date, named: null, max_tickets_per_order: null, variants: [], groups: [], rest: {},
          days: new Map([[date, [20, null, timesOf(product_id).map((time) => [time, 5, [[1, 5, 900]]])]]]),
        },
      ); // biome-ignore format: one answer
  });
  const db = otherWriter(path);
  for (const product_id of products)
    db.exec(`UPDATE _product_read SET images_verified_at = ${expiryOf(product_id) - imageLimitMs} WHERE product_id = ${product_id};
      INSERT INTO image (product_id, image_key, position, document, first_seen_at) VALUES (${product_id}, 'a', 0, '{}', 0)`);
  db.close();
}

/** Returns a configuration of the document. */
function configured(name: 'nginx' | 'varnish' | 'caddy'): string {
  const [, text] = new RegExp(`<!-- ${name} -->\\n\`\`\`\\w+\\n([^]*?)\`\`\``).exec(document('docs/http.md')) ?? [];
  if (text === undefined) throw new Error(`docs/http.md has no configuration of ${name}`);
  return text;
}

const addressOf = (url: string) => url.replace('http://', '');

/** Starts a cache in front of an address, and returns where it listens. */
type StartCache = (behind: string) => Promise<string>;

const nginx: StartCache = async (behind) => {
  const listen = `127.0.0.1:${await freePort()}`;
  const place = join(directory, `nginx-${listen}`);
  mkdirSync(place, { mode: 0o777 });
  execFileSync('chmod', ['0777', place]);
  const own = configured('nginx')
    .replace('/var/cache/nginx/catalogued', join(place, 'cache'))
    .replace('127.0.0.1:8080', listen)
    .replace('127.0.0.1:8482', addressOf(behind));
  writeFileSync(
    join(place, 'nginx.conf'),
    `daemon off; master_process off; pid ${place}/pid; error_log stderr; events {}
http { access_log off; client_body_temp_path ${place}/body; proxy_temp_path ${place}/proxy; fastcgi_temp_path ${place}/f; uwsgi_temp_path ${place}/u; scgi_temp_path ${place}/s;
${own}}`,
  );
  return await started(['nginx', '-c', join(place, 'nginx.conf'), '-e', 'stderr'], listen);
};

/** A jump of the clock is no silence of who is at the other end. */
const patience =
  'timeout_idle first_byte_timeout between_bytes_timeout backend_idle_timeout send_timeout idle_send_timeout'
    .split(' ')
    .flatMap((name) => ['-p', `${name}=7200`]);

const varnishOf =
  (change: (vcl: string) => string): StartCache =>
  async (behind) => {
    const listen = `127.0.0.1:${await freePort()}`;
    const place = join(directory, `varnish-${listen}`);
    const [host = '', port = ''] = addressOf(behind).split(':');
    const own = change(configured('varnish')).replace('"127.0.0.1"', `"${host}"`).replace('"8482"', `"${port}"`);
    writeFileSync(`${place}.vcl`, own);
    const command = `varnishd -F -a ${listen} -n ${place} -f ${place}.vcl -s malloc,20m -T none -j none`;
    return await started([...command.split(' '), ...patience], listen);
  };
const varnish = varnishOf((vcl) => vcl);

const caddy: StartCache = async (behind) => {
  const listen = `127.0.0.1:${await freePort()}`;
  const file = join(directory, `caddy-${listen}`);
  const own = configured('caddy')
    .replace('catalogue.example.com', `http://${listen}`)
    .replace('127.0.0.1:8080', addressOf(behind));
  writeFileSync(file, `{\n  admin off\n}\n${own}`);
  return await started(['caddy', 'run', '--adapter', 'caddyfile', '--config', file], listen);
};

async function started(command: readonly string[], listen: string): Promise<string> {
  const env = { ...process.env, HOME: directory, ...clock.env };
  const program = startProgram(command, { env });
  // By its own clock, which jumps, a program may wait for long until it ends.
  stack.defer(async () => void (await program.end('SIGKILL')));
  for (;;) {
    const answer = await fetch(`http://${listen}/`).catch(() => null);
    if (answer !== null) return `http://${listen}`;
    if (program.child.exitCode !== null) throw new Error(program.output());
    await new Promise(setImmediate);
  }
}

/** Apache as a proxy that compresses: `way` is DEFLATE or BROTLI_COMPRESS. Its modules are where Debian has them. */
const apacheOf =
  (way: string): StartCache =>
  async (behind) => {
    const listen = `127.0.0.1:${await freePort()}`;
    const place = join(directory, `apache-${listen}`);
    const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'filter', 'deflate', 'brotli'];
    writeFileSync(
      place,
      `ServerRoot ${directory}
ServerName localhost
Listen ${listen}
PidFile ${place}.pid
DefaultRuntimeDir ${directory}
ErrorLog ${place}.log
User nobody
Group nogroup
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
SetOutputFilter ${way}
ProxyPass / ${behind}/
`,
    );
    return await started(['apache2', '-X', '-f', place], listen);
  };

/** A browser: a private cache by RFC 9111. */
class Browser {
  readonly #kept = new Map<string, { readonly body: string; headers: Headers; at: number }>();
  readonly #at: string;
  readonly #accepts: OutgoingHttpHeaders;

  constructor(at: string, accepts: OutgoingHttpHeaders = {}) {
    this.#at = at;
    this.#accepts = accepts;
  }

  async get(path: string): Promise<string> {
    const kept = this.#kept.get(path);
    if (kept !== undefined && ageOf(kept) < lifetimeOf(kept.headers)) return kept.body;
    const etag = kept?.headers.get('etag');
    const headers = {
      ...this.#accepts,
      authorization: `Bearer ${key}`,
      ...(etag == null ? {} : { 'if-none-match': etag }),
    };
    const answer = await fetch(this.#at + path, { headers: headers as Record<string, string> });
    if (answer.status !== 304 && answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
    const body = answer.status === 304 ? (kept?.body ?? '') : await answer.text();
    this.#kept.set(path, { body, headers: answer.headers, at: clock.now() });
    return body;
  }
}

function lifetimeOf(headers: Headers): number {
  const [, seconds] = /max-age=(\d+)/.exec(headers.get('cache-control') ?? '') ?? [];
  if (seconds !== undefined) return 1000 * Number(seconds);
  return Date.parse(headers.get('expires') ?? '') - Date.parse(headers.get('date') ?? '') || 0;
}

function ageOf({ headers, at }: { readonly headers: Headers; readonly at: number }): number {
  const apparent = Math.max(0, at - Date.parse(headers.get('date') ?? '') - 999);
  return Math.max(apparent, 1000 * Number(headers.get('age') ?? 0)) + clock.now() - at;
}

interface Shown {
  asked: number;
  /** Shown although they had begun, or expired. */
  passed: number;
  expired: number;
  whole: number;
  confirmed: number;
}

/** Instants of an hour: every 15 seconds, and around each at which something ends. */
const instants = [
  ...[...Array(240).keys()].map((index) => begin + index * 15_000 + 400),
  ...products
    .flatMap((product_id) => [
      ...timesOf(product_id).map((minute) => begin + (minute - 720) * 60_000),
      expiryOf(product_id),
    ])
    .filter((at) => at < begin + 3_600_000)
    .flatMap((at) => [-40_000, -8000, -1700, -600, 50, 2500, 8200, 31_000].map((ms) => at + ms)),
].sort((a, b) => a - b);

/** Shows pages to a shopper with a browser and one without, both behind the same address. */
async function showing(
  behind: string,
  caches: readonly StartCache[],
  accepts: OutgoingHttpHeaders = {},
): Promise<Shown & { readonly at: string }> {
  clock.set(begin);
  let at = behind;
  for (const start of caches) at = await start(at);
  const browser = new Browser(at, accepts);
  const shown: Shown = { asked: 0, passed: 0, expired: 0, whole: 0, confirmed: 0 };
  Object.assign(reached, { whole: 0, confirmed: 0 });
  for (const [index, instant] of instants.entries()) {
    clock.passTo(instant);
    for (const get of [(path: string) => new Browser(at, accepts).get(path), (path: string) => browser.get(path)]) {
      const product_id = products[index % products.length] ?? 1;
      const from = clock.now();
      const times = JSON.parse(await get(`/v1/products/${product_id}/slots?date=${date}`)) as { time: string }[];
      const images = JSON.parse(await get(`/v1/products/${product_id}/images`)) as { expires_at: number }[];
      shown.asked += 2;
      shown.passed += times.filter(({ time }) => Date.parse(`${date}T${time}:00Z`) <= from).length;
      shown.expired += images.filter(({ expires_at }) => expires_at <= from).length;
    }
  }
  return { ...shown, ...reached, at };
}

function hitRate({ asked, whole, confirmed }: Shown): number {
  return Math.round(100 * (1 - (whole + confirmed) / asked));
}

/** Returns the status with which the daemon or a cache answers who names the tag with which an answer came compressed. */
async function confirms(at: string, coding = 'gzip'): Promise<number> {
  const ask = (etag?: string) =>
    fetch(`${at}/v1/products/1/slots?date=${date}`, {
      headers: {
        'accept-encoding': coding,
        authorization: `Bearer ${key}`,
        ...(etag === undefined ? {} : { 'if-none-match': etag }),
      },
    });
  const first = await ask();
  await first.text();
  tags.push(first.headers.get('etag') ?? '');
  return (await ask(tags.at(-1))).status;
}

const rows: string[] = [];
/** Expired images that the controls showed. */
let expired = 0;
/** Tags as they arrived. */
const tags: string[] = [];
const inARow: [string, readonly StartCache[]][] = [
  ['nginx', [nginx]],
  ['Varnish', [varnish]],
  ['Caddy', [caddy]],
  ['nginx behind nginx', [nginx, nginx]],
  ['nginx behind Varnish', [varnish, nginx]],
  ['Varnish behind nginx', [nginx, varnish]],
  ['Varnish behind Varnish', [varnish, varnish]],
  ['Caddy behind nginx', [nginx, caddy]],
];

describe('caches as the document configures them, over an hour', needs('nginx', 'varnish', 'caddy', 'cc'), () => {
  it.each(someOf(inARow))(
    '%s: neither a browser behind it nor anybody else sees a time that has begun or an image that has expired',
    async (name, caches) => {
      const shown = await showing(origin, caches, { 'accept-encoding': 'gzip' });
      rows.push(
        `| ${name} | ${hitRate(shown)} % | ${shown.whole} | ${shown.confirmed} | ${shown.passed} | ${shown.expired} | ${await confirms(shown.at)} |`,
      );
      process.stdout.write(`${rows.at(-1)}\n`);
      expect(shown).toMatchObject({ passed: 0, expired: 0 });
    },
  );

  it('two in a row show times that have begun where answers have a max-age (control)', async () => {
    const shown = await showing(aged, [nginx, nginx]);
    process.stdout.write(`control, max-age: ${JSON.stringify(shown)}\n`);
    expect(shown.passed).toBeGreaterThan(0);
    expired += shown.expired;
  });

  it('Varnish shows them where its grace is left as it comes (control)', async () => {
    const shown = await showing(origin, [varnishOf((vcl) => vcl.replace(/.*grace.*\n/, ''))]);
    process.stdout.write(`control, grace: ${JSON.stringify(shown)}\n`);
    expect(shown.passed).toBeGreaterThan(0);
    // Three images expire within the hour: one control alone may be asked at other moments.
    expect(expired + shown.expired).toBeGreaterThan(0);
  });
});

/** It is in no run of the project, where nginx and Caddy are. */
function hasApache(): boolean {
  try {
    execFileSync('apache2', ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    process.stdout.write('not tried: apache2 is not installed\n');
    return false;
  }
}

describe('a proxy that compresses', needs('cc'), () => {
  it.for([
    ['gzip', 'DEFLATE', '-gzip'],
    ['br', 'BROTLI_COMPRESS', '-br'],
  ] as const)('has an answer confirmed that Apache sent as %s', async ([coding, way, ending]) => {
    if (!hasApache()) return;
    clock.set(begin);
    const at = await apacheOf(way)(origin);
    expect(await confirms(at, coding)).toBe(304);
    expect(tags.at(-1)).toMatch(new RegExp(`${ending}"$`));
  });
});
