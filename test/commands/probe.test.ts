import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { probeCommand } from '../../src/commands/probe.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { probeAlone } from '../../src/daemon/probing.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { acquireLock } from '../../src/kernel/sqlite/lock.ts';
import { readRecording } from '../../src/sandbox/reads/recording.ts';
import { kind, type Quirks } from '../../src/sandbox/rough/quirks.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ProbeReport } from '../../src/says/probe/probe.ask.ts';
import { mostCalls } from '../../src/says/probe/probe-calls.ask.ts';
import { canary } from '../fakes/canary.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { differentService } from '../fakes/different-service.ts';
import { fastClock } from '../fakes/fast-clock.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfig, writeTestConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { someOf } from '../fakes/thorough.ts';
import { outputs } from '../mirror/contract/outputs.ts';

/** A probe at its own pace, of a sandbox whose time passes twenty times as fast. */
async function probed(options: Partial<SandboxOptions>): Promise<ProbeReport> {
  using directory = temporaryDirectory();
  const clock = fastClock(20);
  await using sandbox = await startSandbox({ clock, seed: 1, products: 240, ...options });
  const loaded = testConfig(directory.path, sandbox.url);
  return await probeAlone(testMachine({ clock }), loaded, new AbortController().signal);
}

type Line = readonly [name: string, verdict: string, seen: RegExp];

/** What the table says of each quirk. */
const table: [quirks: Partial<Quirks>, lines: Line[]][] = [
  [{ cached_ms: 6000 }, [['cache', 'cannot tell', /no header says/]]],
  [{ dates: 'ignored' }, [['dates asked for', 'otherwise', /the requested dates are ignored/]]],
  [{ dates: 'shifted' }, [['dates asked for', 'otherwise', /other dates/]]],
  [{ dates: 'weeks' }, [['dates asked for', 'otherwise', /rounded, to weeks perhaps/]]],
  [{ date_order: 'shuffled' }, [['order of dates', 'otherwise', /in no order/]]],
  [{ date_order: 'repeated' }, [['order of dates', 'otherwise', /\d+ of them twice/]]],
  [{ date_cap: 'silent' }, [['days in one answer', 'otherwise', /^dates end after 7 days, and capped_at says/]]],
  [
    { faults: [{ kind: 'status', status: 503, of: 'answers', share: 0.2 }] },
    [['faults', 'otherwise', /^\d+ of \d+ calls: 503$/]],
  ],
  [
    { faults: [{ kind: 'status', status: 429, of: 'answers', share: 0.15 }] },
    [['limit', 'otherwise', /429 without Retry-After/]],
  ],
  [{ faults: [{ kind: 'reset', of: 'answers', share: 0.2 }] }, [['faults', 'otherwise', /reset/]]],
  [{ limit: 1 }, [['limit', 'otherwise', /throttled at 1.5 a second, Retry-After 2/]]],
  [
    { endpoints: 'specification' },
    [
      ['GET product', 'otherwise', /^404 not_found for 5 products: not offered/],
      ['GET experiences', 'otherwise', /not offered/],
      ['GET subscription', 'otherwise', /not offered/],
      ['GET product-variants', 'as believed', /200/],
    ],
  ],
  [{ unrated: 'zero' }, [['members of the rows', 'as believed', /rows$/]]],
  [
    { images_null: 0.3 },
    [
      [
        'members of the rows',
        'otherwise',
        /images is left out in \d+ of \d+ rows, such as null: the known images stay/,
      ],
    ],
  ],
  [{ page_size: 'ignored' }, [['page size', 'otherwise', /^10 rows of 100 asked for, 240 in all/]]],
  [{ list_order: 'shifting' }, [['list order', 'otherwise', /rows elsewhere in the second walk/]]],
  [
    { counters: 'differing' },
    [
      ['counters', 'otherwise', /availability, request_id, served_at, views_today/],
      ['cache', 'cannot tell', /builds each answer as it is read/],
    ],
  ],
  [{ clock_skew_ms: 3_600_000 }, [['clock', 'otherwise', /^3[56]\d\d s ahead of ours/]]],
  [{ slow_ms: 1500 }, [['time of an answer', 'otherwise', /ms in the middle/]]],
  [{ escapes: 0.3 }, [['texts', 'otherwise', /control characters or scripts; titles of at most \d{6}/]]],
  [
    { hostile_values: 0.3 },
    [
      [
        'members of the rows',
        'otherwise',
        /price is below zero in \d+ of \d+ rows, such as -[\d.]+: no price is shown/,
      ],
      [
        'members of the rows',
        'otherwise',
        /large is not public in \d+ of \d+ rows, such as "\w+:\/\/.*: the image is hidden/,
      ],
    ],
  ],
  [{ list_end: 'never' }, [['end of the list', 'otherwise', /^page \d+ has 100 rows/]]],
];

describe('the table', () => {
  it.concurrent.each(someOf(table))('names %j', async (quirks, lines) => {
    const { findings, calls, unusable } = await probed({ quirks });
    expect(unusable).toBe(null);
    expect(calls).toBeLessThanOrEqual(mostCalls);
    for (const [name, verdict, seen] of lines) {
      const found = findings.find((each) => each.name === name);
      expect([name, found?.verdict, found?.seen]).toEqual([name, verdict, expect.stringMatching(seen)]);
      if (verdict === 'otherwise') expect(found?.means).not.toBe('');
    }
  });

  it('has a line about every quirk', () => {
    const named = new Set(table.flatMap(([quirks]) => Object.keys(quirks)));
    expect([...named].sort()).toEqual(Object.keys(kind).sort());
  });

  it('says of a kind service that all is as believed, or that it cannot tell (control)', async () => {
    const { findings, profile, cut_short } = await probed({});
    expect(findings.filter(({ verdict }) => verdict === 'otherwise')).toEqual([]);
    expect(findings.filter(({ verdict }) => verdict === 'cannot tell').map(({ name }) => name)).toEqual([
      'limit',
      'cache',
    ]);
    expect([profile, cut_short]).toEqual([{}, null]);
  });

  it('says 410, refused dates and a closed product’s 400 as they are', async () => {
    const { findings } = await probed({ gone: 410, disabled: 'refuse' });
    expect(findings.find(({ name }) => name === 'a closed product')).toMatchObject({
      verdict: 'as believed',
      seen: '400 checkout_disabled',
    });
  });
});

describe('the profile that follows', () => {
  it('takes no number of days from an answer that was rounded', async () => {
    const { profile, findings } = await probed({ quirks: { dates: 'weeks' } });
    expect(findings.find(({ name }) => name === 'days in one answer')?.verdict).toBe('as believed');
    expect(profile).toEqual({});
  });

  it('switches off what is not offered, and asks for pages as long as they come', async () => {
    const { profile } = await probed({ quirks: { endpoints: 'specification', page_size: 'ignored' } });
    expect(profile).toEqual({ page_size: 10, paths: { product: null, experiences: null, tags: null } });
  });
});

async function command(
  directory: string,
  sandbox: Pick<Sandbox, 'url'>,
  args: readonly string[] = [],
  { more = {}, env = {} }: { more?: Record<string, unknown>; env?: Record<string, string> } = {},
) {
  const file = writeTestConfig(directory, sandbox.url, more);
  const io = capturedIo({ CATALOGUED_CONFIG: file, ...env });
  const run = probeCommand(io, { calls_a_second: 1000 }).exitOverride();
  const error = await run.parseAsync(['node', 'probe', ...args]).then(
    () => null,
    (reason: unknown) => reason as { code: string; exitCode: number; message: string; hint: string },
  );
  return { error, out: io.out(), err: io.err() };
}

it('a service that no key describes is printed and recorded, nothing is suggested, and the command ends with 69', async () => {
  using directory = temporaryDirectory();
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 12 });
  await using service = await differentService(sandbox.url, {
    answer: ({ products, ...json }) => (products === undefined ? undefined : { ...json, data: products }),
  });
  const recorded = join(directory.path, 'recorded');
  const { error, out } = await command(directory.path, service, ['--record', recorded]);
  const seen = 'members: success, api_version, pagination, data; expected: products';
  expect(out).toContain(`≠ shape of the list: rows under products, each with an id\n    seen   ${seen}\n`);
  expect(out).toMatch(/No key of service.profile follows from this.\n$/);
  expect(error).toMatchObject({ exitCode: 69, code: 'not-followed', message: expect.stringContaining(seen) });
  expect(readdirSync(recorded).length).toBeGreaterThan(3);
});

describe('the command', () => {
  it('prints what is believed, seen and meant, and the profile; no terminal is steered by it', async () => {
    using directory = temporaryDirectory();
    const quirks = { escapes: 1, hostile_values: 0.5, endpoints: 'specification' } as const;
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 60, quirks });
    const { error, out } = await command(directory.path, sandbox);
    expect(error).toBe(null);
    expect(out).toContain('≠ GET product: it exists, although the specification does not list it\n    seen   404');
    expect(out).toContain('service:\n  profile:\n    paths:\n      product: null');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  it('makes no file before the first start, and has facts as JSON', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 60 });
    const { out } = await command(directory.path, sandbox, ['--json']);
    const facts = JSON.parse(out) as ProbeReport;
    expect(facts).toMatchObject({ unusable: null, calls: expect.any(Number), profile: {} });
    expect(Object.keys(facts)).toEqual(outputs.probe);
    expect(readdirSync(directory.path)).toEqual(['catalogued.yaml']);
  });

  it('ends with 69 where the key is refused, and where nobody answers', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 6, key: 'right' });
    const refused = await command(directory.path, sandbox);
    expect(refused.error).toMatchObject({ exitCode: 69, code: 'key-refused' });
    expect(sandbox.calls.counts()).toMatchObject({ calls: 1 });
    const nobody = await command(directory.path, { url: `http://127.0.0.1:${await freePort()}` });
    expect(nobody.error).toMatchObject({ exitCode: 69, code: 'unreachable' });
    expect([refused.out, nobody.out]).toEqual(['', '']);
  });

  it('ends with 75 where another process holds the lock and does not answer', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 6 });
    const state = join(directory.path, 'state');
    mkdirSync(state, { mode: 0o700 });
    using _ = acquireLock(state);
    expect((await command(directory.path, sandbox)).error).toMatchObject({ exitCode: 75 });
    expect(sandbox.calls.counts()).toMatchObject({ calls: 0 });
  });
});

it('a running daemon asks, through its own limiter', async () => {
  using directory = temporaryDirectory();
  const clock = fastClock(20);
  await using sandbox = await startSandbox({ clock, seed: 1, products: 12, quirks: { hostile_values: 1 } });
  await using daemon = await startDaemon(testMachine({ clock }), testConfig(directory.path, sandbox.url));
  const before = daemon.limiter.state().calls;
  const { error, out, err } = await command(directory.path, sandbox);
  expect(error).toBe(null);
  expect(err).toBe('The running daemon asked the service.\n');
  expect(out).toContain('price is below zero in');
  expect(daemon.limiter.state().calls - before).toBeGreaterThanOrEqual(20);
});

describe('a recording', () => {
  it('has no text, id, address or key of the service, and a sandbox serves it like the service it was made of', async () => {
    using directory = temporaryDirectory();
    const key = canary.key;
    const quirks = { unrated: 'zero', images_null: 0.3, endpoints: 'specification' } as const;
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 60, key, quirks });
    const kept = join(directory.path, 'recorded');
    const more = { service: { profile: {} } };
    const made = await command(directory.path, sandbox, ['--record', kept], { more, env: { CATALOGUED_API_KEY: key } });
    expect(made.error).toBe(null);
    const text = readdirSync(kept)
      .map((name) => readFileSync(join(kept, name), 'utf8'))
      .join('\n');
    const products = sandbox.products();
    for (const { id, title, place, images } of products)
      for (const secret of [`"${id}"`, title, `"${place.city}"`, ...images.map(({ name }) => name)])
        expect(text.includes(secret), secret).toBe(false);
    for (const secret of [key, 'sandbox.invalid', 'uthorization', 'user-agent']) expect(text).not.toContain(secret);

    await using replayed = await startSandbox({
      clock: systemClock,
      seed: 2,
      products: 0,
      recorded: readRecording(kept),
    });
    expect(replayed.products()).toHaveLength(60);
    const again = JSON.parse((await command(directory.path, replayed, ['--json'])).out) as ProbeReport;
    const seen = (name: string) => again.findings.find((each) => each.name === name);
    expect(seen('GET product')?.seen).toBe('404 not_found for 5 products: not offered');
    expect(seen('members of the rows')?.seen).toContain('such as null: the known images stay');
    expect(seen('dates asked for')?.verdict).toBe('as believed');
  });

  it('says where it cannot be written, or is none', async () => {
    using directory = temporaryDirectory();
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 6 });
    const { error } = await command(directory.path, sandbox, ['--record', '/dev/null/x']);
    expect(error).toMatchObject({ exitCode: 74, code: 'probe-record' });
    expect(() => readRecording(join(directory.path, 'none'))).toThrow(expect.objectContaining({ exitCode: 65 }));
    expect(() => readRecording(directory.path)).toThrow('has no recorded product list');
  });
});
