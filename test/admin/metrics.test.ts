import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createSecret } from '../../src/config/secrets.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { exposition } from '../../src/says/metrics/exposition.ts';
import { metricFamilies } from '../../src/says/metrics/metric-families.ts';
import type { DaemonStatus } from '../../src/says/status/daemon-status.ts';
import { canary, canaryMark } from '../fakes/canary.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { freePort } from '../fakes/free-port.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { labels as documentedLabels } from '../reference.ts';

interface Parsed {
  readonly families: ReadonlyMap<string, { readonly type: string; readonly help: string }>;
  /** By name and labels as they are written. */
  readonly samples: ReadonlyMap<string, number>;
}

/** The text format of Prometheus 0.0.4, read as strictly as it is specified: whatever does not fit throws. */
function parse(text: string): Parsed {
  const families = new Map<string, { type: string; help: string }>();
  const samples = new Map<string, number>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  let current = '';
  let help: { name: string; text: string } | null = null;
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    const [, helped, words] = /^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\]|\\\\|\\n)+)$/.exec(line) ?? [];
    const [, typed, type] = /^# TYPE ([a-zA-Z_:][\w:]*) (gauge|counter)$/.exec(line) ?? [];
    const label = String.raw`[a-zA-Z_]\w*="(?:[^"\\\n]|\\\\|\\"|\\n)*"`;
    const sample = new RegExp(
      String.raw`^([a-zA-Z_:][\w:]*)(\{${label}(?:,${label})*\})? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$`,
    );
    const [, name, labels = '', value] = sample.exec(line) ?? [];
    if (helped !== undefined && words !== undefined) {
      if (families.has(helped)) throw new Error(`twice: ${line}`);
      help = { name: helped, text: words };
    } else if (typed !== undefined && type !== undefined) {
      if (help?.name !== typed) throw new Error(`no HELP before: ${line}`);
      families.set(typed, { type, help: help.text });
      current = typed;
    } else if (name !== undefined) {
      if (name !== current) throw new Error(`not with its family: ${line}`);
      if (samples.has(name + labels)) throw new Error(`twice: ${line}`);
      samples.set(name + labels, Number(value));
    } else throw new Error(`no line of the format: ${line}`);
  }
  return { families, samples };
}

function get(socketPath: string, path: string): Promise<{ type: string; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ type: string; body: string }>();
  request({ socketPath, path }, async (response) => {
    const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    resolve({ type: response.headers['content-type'] ?? '', body });
  })
    .on('error', reject)
    .end();
  return promise;
}

/** Status and metrics of one moment: the daemon works on meanwhile, so they are asked for until nothing changed between. */
async function atOneMoment(socket: string): Promise<{ status: DaemonStatus; type: string; body: string }> {
  for (let { body: before } = await get(socket, '/v1/status'); ; ) {
    const metrics = await get(socket, '/metrics');
    const { body: after } = await get(socket, '/v1/status');
    if (sinceCounted(after) === sinceCounted(before)) return { status: JSON.parse(after) as DaemonStatus, ...metrics };
    before = after;
  }
}

/** Leaves out the instant of the count: there is one for each question. */
const sinceCounted = (status: string) => status.replace(/"as_of":\d+/, '');

describe('/metrics', () => {
  it('says what status says, in the format as it is specified, without a secret, an address or a product', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ products: 12, hold_ms: 0 });
    const port = await freePort();
    const config = testConfig(
      directory.path,
      sandbox.url,
      {
        signing: { body: 'json' },
        receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
        subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
      },
      { receiver_secret: createSecret(canary.master) },
    );
    await using daemon = await startDaemon(testMachine(), config);
    await untilFilled(daemon);
    const { subscriptions } = daemon;
    if ('work' in subscriptions) await subscriptions.work.maintain(new AbortController().signal);
    await fetch(`http://127.0.0.1:${port}/hooks/nobody`, { method: 'POST', body: '{}' });

    const socket = `${directory.path}/state/admin.sock`;
    const { status, type, body } = await atOneMoment(socket);
    const { families, samples } = parse(body);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect([...families.keys()]).toEqual(metricFamilies.map(({ name }) => name));

    expect(status.freshness.length).toBeGreaterThan(5);
    for (const { resource, tier, met, target_ms, oldest_checked_at, ...counts } of status.freshness) {
      const labels = `resource="${resource}",tier="${tier ?? ''}"`;
      for (const state of ['fresh', 'stale', 'expired'] as const)
        expect(samples.get(`catalogued_records{${labels},state="${state}"}`)).toBe(counts[state]);
      expect(samples.get(`catalogued_freshness_target_met{${labels}}`)).toBe(met);
      expect(samples.get(`catalogued_freshness_target_seconds{${labels}}`)).toBe(target_ms / 1000);
      expect(samples.get(`catalogued_oldest_read_timestamp_seconds{${labels}}`)).toBe((oldest_checked_at ?? 0) / 1000);
    }
    for (const [lane, calls] of Object.entries(status.daemon.lanes))
      expect(samples.get(`catalogued_calls_total{lane="${lane}"}`)).toBe(calls);
    const pairs = {
      catalogued_true: 1,
      catalogued_products_sellable: status.products.sellable,
      catalogued_bookable_days: status.bookable.days,
      catalogued_products_visible: 12,
      catalogued_images_shown: status.images,
      catalogued_images_oldest_confirmed_timestamp_seconds: (status.oldest_image_at ?? 0) / 1000,
      catalogued_call_rate_limit: status.daemon.rate,
      catalogued_call_rate_ceiling: 100_000,
      catalogued_throttled_total: 0,
      catalogued_service_reachable: 1,
      catalogued_key_refused: 0,
      catalogued_paused_until_timestamp_seconds: undefined,
      catalogued_deliveries_received_total: status.inbox.received,
      catalogued_deliveries_waiting: 0,
      'catalogued_receiver_refused_total{reason="address"}': status.inbox.receiver?.refused.address,
      catalogued_wal_bytes: status.wal_bytes,
      'catalogued_alarm{kind="closures-held"}': 0,
      'catalogued_subscription_status{subscription="all",status="active"}': 1,
      'catalogued_subscription_trusted{subscription="all"}': 1,
    };
    for (const [name, value] of Object.entries(pairs)) expect(samples.get(name), name).toBe(value);
    expect(status.jobs.length).toBeGreaterThan(10);
    for (const { name, next_at, last_run_at, failure, overdue } of status.jobs) {
      const of = (family: string) => samples.get(`catalogued_job_${family}{job="${name}"}`);
      expect(of('next_run_timestamp_seconds'), name).toBe(next_at / 1000);
      expect(of('last_run_timestamp_seconds'), name).toBe(last_run_at === null ? undefined : last_run_at / 1000);
      expect([of('failing'), of('overdue')], name).toEqual([failure === null ? 0 : 1, overdue]);
    }
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    // In seconds, on however busy a machine.
    expect(samples.get('nodejs_eventloop_lag_p99_seconds')).toBeLessThan(60);

    for (const sample of samples.keys()) {
      const [, name = '', written = ''] = /^(\w+)(.*)$/.exec(sample) ?? [];
      const labels = [...written.matchAll(/(\w+)="/g)].map(([, label]) => label).join(', ');
      expect(labels, sample).toBe(documentedLabels.get(name));
    }
    expect(body).not.toMatch(new RegExp(`${canaryMark}|hooks|127\\.0\\.0\\.1`));
    for (const id of daemon.mirror.catalogue.products.ids()) expect(body).not.toContain(`"${id}"`);
  });

  it('names each metric by the conventions, once', () => {
    for (const { name, type, help } of metricFamilies) {
      expect(name).toMatch(/^(catalogued|process|nodejs)_[a-z0-9]+(_[a-z0-9]+)*$/);
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      expect(help, name).toMatch(/^[A-Z].{10,}\.$/);
    }
    expect(new Set(metricFamilies.map(({ name }) => name)).size).toBe(metricFamilies.length);
  });

  it('and the alert rules use metrics that exist', () => {
    const rules = readFileSync(new URL('../../config/monitoring/alerts.yaml', import.meta.url), 'utf8');
    const used = [...rules.matchAll(/\b(?:catalogued|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name);
    expect(used.length).toBeGreaterThan(5);
    const known = new Set(metricFamilies.map(({ name }) => name));
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });
});

it('whatever stands in a label or a help stays one line', async () => {
  const family = { name: 'a_b', type: 'gauge', help: 'x\\y\nz "q"' } as const;
  const { text } = await exposition([{ ...family, samples: [{ labels: { l: 'a"b\\c\nd 1\nother 2' }, value: 1 }] }]);
  expect(text).toBe('# HELP a_b x\\\\y\\nz "q"\n# TYPE a_b gauge\na_b{l="a\\"b\\\\c\\nd 1\\nother 2"} 1\n');
  expect(parse(text).samples.size).toBe(1);
});
