import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { Answer, Body } from '../../src/admin/api.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { openMirrorFacts } from '../../src/mirror/reading.ts';
import { noDate } from '../../src/schedule/weights.ts';
import type {
  CheckAnswer,
  CheckQuestion,
  OrderNoted,
  OrderReport,
  Reader,
  ReaderOptions,
  Seen,
} from '../../src/storefront/reader.ts';
import { canary } from '../fakes/canary.ts';
import { filledDaemon } from '../fakes/filled-daemon.ts';
import { openReader } from '../fakes/reader.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { reader as contractReader } from '../mirror/contract/outputs.ts';

const stack = new AsyncDisposableStack();
let daemon: RunningDaemon;
let question: CheckQuestion;
/** Where the daemon is: the socket, and the same daemon's files behind a port. */
let socket = '';
let mirror = '';
let directory = '';

beforeAll(async () => {
  const filled = await filledDaemon(stack, {
    receiver: { listen: '127.0.0.1:0' },
    service: { currencies: ['EUR', 'USD'] },
  });
  ({ daemon, path: directory } = filled);
  socket = filled.sockets.storefront;
  mirror = daemon.config.mirror.path;
  using reader = open({});
  question = ticketIn(reader);
});
afterAll(() => stack.disposeAsync());

function open(options: ReaderOptions = { daemon: { listen: `unix:${socket}` } }): Reader {
  return openReader(mirror, options);
}

function ticketIn(reader: Reader): CheckQuestion {
  const soon = new Date(systemClock.now() + 7 * 86_400_000).toISOString().slice(0, 10);
  for (const { product_id } of reader.products()) {
    const day = reader.calendar(product_id, { from: soon }).find(({ state }) => state === 'available');
    const slot = day && reader.slots(product_id, day.date).find((each) => each.availability && each.retail_price);
    if (slot !== undefined)
      return { product_id, date: slot.date, time: slot.time, variants: [{ variant_id: slot.variant_id, count: 1 }] };
  }
  throw new Error('nothing is sold');
}

describe('through the storefront interface a reader', () => {
  it('asks for the live check, with what the mirror showed beside what the service says', async () => {
    using reader = open();
    const answer = await reader.check(question);
    expect(answer).toMatchObject({ verdict: 'holds', reasons: [], alternatives: [] });
    expect(Object.keys(answer).sort()).toEqual([...(contractReader.check ?? [])].sort());
    expect(answer.now?.price).toEqual(answer.mirror?.price);
    const dear = await reader.check({ ...question, expect_price: { amount: 1, currency: 'EUR' } });
    expect(dear).toMatchObject({ verdict: 'changed', reasons: ['price-changed'] });
  });

  it('asks in the currency that it was opened with, unless the question names another', async () => {
    using reader = open({ currency: 'USD', daemon: { listen: `unix:${socket}` } });
    const holds = { verdict: 'holds', now: { price: { currency: 'USD' } }, mirror: { price: { currency: 'USD' } } };
    expect(await reader.check(question)).toMatchObject(holds);
    expect(await reader.check({ ...question, currency: 'EUR' })).toMatchObject({ now: { price: { currency: 'EUR' } } });
    const expect_price = { amount: 1, currency: 'EUR' };
    expect(await reader.check({ ...question, expect_price })).toMatchObject({ now: { price: { currency: 'EUR' } } });
    await expect(reader.check({ ...question, currency: 'XXX' })).rejects.toMatchObject({
      code: 'currency-not-mirrored',
    });
  });

  it('tells of an order, which counts once', async () => {
    using reader = open();
    const order = {
      product_id: question.product_id,
      date: question.date,
      quantity: 2,
      outcome: 'confirmed',
      order_id: 'order-1',
    } as const;
    const noted = await reader.order(order);
    expect(noted).toMatchObject({ repeated: false });
    expect(Object.keys(noted).sort()).toEqual([...(contractReader.order ?? [])].sort());
    expect(await reader.order(order)).toEqual({ repeated: true, due: 0, mirror: null });
    await expect(reader.order({ ...order, quantity: 3 })).rejects.toMatchObject({
      code: 'order-differs',
      exitCode: 64,
    });
  });

  it('tells what shoppers look at, together, once it is closed at the latest; what is wrong costs nothing else', async () => {
    const { product_id, date } = question;
    {
      using reader = open();
      for (let time = 0; time < 5; time += 1) reader.seen({ product_id, date });
      reader.seen({ product_id, count: 3 });
      reader.seen({ product_id: 999_999_999 });
      for (const wrong of [{ product_id: -1 }, { product_id, date: '2026-02-30' }, { product_id, count: 0.5 }, null])
        reader.seen(wrong as never);
    }
    const told = () => {
      using facts = openMirrorFacts(mirror);
      return facts.schedule.interest.of(product_id).windows.filter(({ part }) => part === noDate);
    };
    while (told().length === 0) {
      await setImmediate();
      await daemon.schedule.run('views');
    }
    expect(told()).toMatchObject([{ views: 3 }]);
  });

  it('is told what is wrong with a question, by the code of the daemon', async () => {
    using reader = open();
    await expect(reader.check({ ...question, product_id: 1 })).rejects.toMatchObject({ code: 'unknown-product' });
    const nobody = { ...question, variants: [{ variant_id: 1, count: 1 }] };
    await expect(reader.check(nobody)).rejects.toMatchObject({ code: 'unknown-variant' });
    await expect(reader.check({ ...question, date: 'tomorrow' })).rejects.toMatchObject({
      code: 'bad-request',
      exitCode: 64,
      message: 'date: found "tomorrow"; expected a date of the calendar, like 2026-12-24',
    });
  });

  it('stops waiting when whoever asks has left', async () => {
    using reader = open();
    const left = new Error('the shopper has left');
    await expect(reader.check(question, { signal: AbortSignal.abort(left) })).rejects.toBe(left);
    using never = await listening(join(directory, 'mute.sock'), () => undefined);
    using mute = open({ daemon: { listen: never.listen } });
    const leaving = new AbortController();
    const asked = mute.check(question, { signal: leaving.signal });
    never.server.once('connection', () => leaving.abort(left));
    await expect(asked).rejects.toBe(left);
  });
});

describe('where the daemon cannot be used, a reader says so in one line, and goes on reading', () => {
  const cases: [title: string, options: () => ReaderOptions, code: string, exitCode: number][] = [
    ['it was opened without one', () => ({}), 'daemon-not-configured', 78],
    ['no daemon was ever there', () => ({ daemon: { listen: `unix:${directory}/none.sock` } }), 'no-daemon', 69],
    ['nobody listens at the port', () => ({ daemon: { listen: '127.0.0.1:9' } }), 'no-daemon', 69],
    ['its path leads over a file', () => ({ daemon: { listen: `unix:${mirror}/s.sock` } }), 'no-daemon', 69],
  ];
  test.each(cases)('%s', async (_, options, code, exitCode) => {
    using reader = open(options());
    for (const asked of [reader.check(question), reader.order({ ...question, quantity: 1, outcome: 'confirmed' })])
      await expect(asked).rejects.toMatchObject({ code, exitCode, hint: expect.stringMatching(/^[^\n]+$/) });
    expect(() => reader.seen(question)).not.toThrow();
    expect(reader.products().length).toBeGreaterThan(0);
  });

  const strangers: [title: string, answer: string, said: RegExp][] = [
    ['is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', /HPE_/],
    ['is a page', 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>', /without JSON/],
    ['is JSON of somebody else', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 2\r\n\r\n{}', /answers 502/],
    ['breaks off', 'HTTP/1.1 200 OK\r\ncontent-length: 600\r\n\r\n{"verdict":', /aborted|ECONNRESET/],
    ['is nothing at all', '', /ECONNRESET/],
  ];
  test.each(strangers)('what answers there %s', async (title, answer, said) => {
    using stranger = await listening(join(directory, `${title.replaceAll(' ', '-')}.sock`), () => answer);
    using reader = open({ daemon: { listen: stranger.listen } });
    await expect(reader.check(question)).rejects.toMatchObject({
      code: 'no-daemon',
      exitCode: 69,
      message: expect.stringMatching(said),
    });
  });

  test('whoever listens says nothing', async () => {
    using mute = await listening(join(directory, 'hangs.sock'), () => undefined);
    using reader = open({ daemon: { listen: mute.listen } });
    await expect(reader.check({ ...question, deadline_ms: 50 })).rejects.toMatchObject({
      code: 'daemon-silent',
      exitCode: 75,
    });
  });

  test.each(['', 'storefront.sock', 'unix:', 'http://127.0.0.1:80', '127.0.0.1'])('"%s" is no address', (listen) => {
    expect(() => open({ daemon: { listen } })).toThrow(expect.objectContaining({ code: 'bad-argument' }));
  });

  test('a token with a line break is none', () => {
    const daemon = { listen: '127.0.0.1:8482', token: 'a\r\nb' };
    expect(() => open({ daemon })).toThrow(expect.objectContaining({ code: 'bad-argument' }));
  });
});

describe('over TCP the daemon', () => {
  it('wants its token, and a wrong one is a matter of permission that repeats no token', async () => {
    using own = temporaryDirectory();
    const more = { storefront: { listen: '127.0.0.1:0' }, receiver: { listen: '127.0.0.1:0' } };
    const secrets = { storefront_token: createSecret(canary.storefront) };
    const config = testConfig(own.path, 'http://127.0.0.1:9', more, secrets);
    await using other = await startDaemon(testMachine(), config);
    const listen = new URL(other.storefront ?? '').host;
    for (const token of [undefined, canary.admin]) {
      using reader = open({ daemon: { listen, token } });
      const refusal = await reader.check(question).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: 'unauthorized', exitCode: 77 });
      expect(JSON.stringify(refusal)).not.toContain(canary.admin);
    }
    using reader = open({ daemon: { listen, token: canary.storefront } });
    // It is let in, and this daemon mirrors nothing yet.
    await expect(reader.check(question)).rejects.toMatchObject({ code: 'unknown-product' });
  });
});

it.skipIf(process.getuid?.() !== 0)('a user outside the group is told so', () => {
  const reader = new URL('../../src/storefront/reader.ts', import.meta.url).href;
  // A child of its own: it gives up its rights.
  const script = `
    const { openReader } = await import(${JSON.stringify(reader)});
    const opened = openReader(${JSON.stringify(mirror)}, { daemon: { listen: ${JSON.stringify(`unix:${socket}`)} } });
    process.seteuid(65534);
    await opened.check(${JSON.stringify(question)}).catch(({ code, exitCode }) => console.log(code, exitCode));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(said).toBe('permission 77\n');
});

/** Equal both ways, member by member, whatever is optional or read-only. */
type Equal<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;
type Plain<T> = T extends readonly (infer Each)[]
  ? Plain<Each>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Plain<T[Key]> }
    : T;

it('the types of the reader are those of the API', () => {
  // Compared by `npm run check`: a member more, less or of another type does not compile.
  const same: [
    Equal<CheckQuestion, Body<'POST /v1/check'>>,
    Equal<CheckAnswer, Answer<'POST /v1/check'>>,
    Equal<OrderReport, Body<'POST /v1/orders'>>,
    Equal<OrderNoted, Answer<'POST /v1/orders'>>,
    Equal<Seen, Body<'POST /v1/seen'>['seen'][number]>,
  ] = [true, true, true, true, true];
  const control: Equal<CheckQuestion & { readonly more?: string }, Body<'POST /v1/check'>> = false;
  expect([same, control]).toEqual([[true, true, true, true, true], false]);
});

interface Listening extends Disposable {
  readonly listen: string;
  readonly server: Server;
}

/** Somebody who answers a connection with this text and its end, or (undefined) never. */
async function listening(path: string, answer: () => string | undefined): Promise<Listening> {
  const server = createServer((connection) => {
    connection.on('error', () => undefined);
    const text = answer();
    connection.once('data', () => {
      if (text !== undefined) connection.end(text);
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(path, () => resolve());
  await promise;
  return { listen: `unix:${path}`, server, [Symbol.dispose]: () => server.close() };
}
