import { describe, expect, it } from 'vitest';
import { main } from '../../src/commands/main.ts';
import { renderBody } from '../../src/commands/notifications.ts';
import { instant } from '../../src/kernel/clock.ts';
import { prepareDirectory } from '../../src/kernel/sqlite/directory.ts';
import { type Inbox, openInbox } from '../../src/receiver/inbox.ts';
import { testConfig, writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { outputs } from '../mirror/contract/outputs.ts';

/** A configuration beside an inbox, and the program in this process. */
function harness(): Disposable & {
  inbox(work: (inbox: Inbox) => void): void;
  run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
} {
  const stack = new DisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const config = writeTestConfig(path, 'http://127.0.0.1:1');
  const { mirror } = testConfig(path, 'http://127.0.0.1:1').config;
  prepareDirectory(mirror.state_dir, 0o700);
  return {
    inbox: (work) => {
      using inbox = openInbox(mirror.inbox_path, { master: null, now: instant(0) });
      work(inbox);
    },
    run: async (...args) => {
      const written = { stdout: '', stderr: '' };
      const stream = (name: keyof typeof written) =>
        ({
          write: (text: string) => {
            written[name] += text;
            return true;
          },
        }) as unknown as NodeJS.WritableStream;
      const streams = { stdout: stream('stdout'), stderr: stream('stderr') };
      const io = { ...streams, env: {}, signal: new AbortController().signal };
      const code = await main(['--config', config, ...args], io);
      return { code, ...written };
    },
    [Symbol.dispose]: () => stack.dispose(),
  };
}

const hourMs = 3_600_000;

function deliver({ deliveries }: Inbox, text: string | Buffer, hours_ago: number): void {
  const body = Buffer.from(text);
  const received_at = instant(Date.now() - hours_ago * hourMs);
  const from = { subscription_id: 'norland', epoch: 2, peer: '192.0.2.1', content_type: 'application/json' };
  deliveries.store([{ ...from, received_at, body, length: body.length, truncated: false }]);
}

describe('catalogued notifications', () => {
  it('lists what came, shows one, and lets it wait again, with no daemon running', async () => {
    using test = harness();
    test.inbox((inbox) => {
      deliver(inbox, '{"subscription_id":"norland","products":[{"product_id":9007199254740993}]}', 5);
      deliver(inbox, 'not \u001b[31mJSON', 3);
      deliver(inbox, '{}', 1);
      inbox.deliveries.settle(1, 'applied', null, instant(10));
      inbox.deliveries.settle(2, 'quarantined', 'not JSON', instant(10));
    });
    const all = await test.run('notifications', 'list');
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(all.stdout).toMatch(/^3 deliveries received: 1 waiting, 1 applied, 0 superseded, 1 quarantined\.\n\nnumber/);
    expect(all.stdout).toMatch(/\n +2 +3 h ago +norland +192\.0\.2\.1 +\d+ +quarantined +not JSON\n/);
    const recent = await test.run('notifications', 'list', '--since', '4h', '--state', 'quarantined', '--json');
    const found = JSON.parse(recent.stdout);
    expect(Object.keys(found)).toEqual(outputs['notifications list']);
    expect(found.deliveries).toMatchObject([{ delivery_id: 2, reason: 'not JSON' }]);

    const shown = await test.run('notifications', 'show', '1');
    expect(shown.stdout).toContain('State     applied since 1970-01-01T00:00:00Z\n');
    expect(shown.stdout).toContain('"product_id": 9007199254740993');
    expect((await test.run('notifications', 'show', '2')).stdout).toContain('not \\u001b[31mJSON');
    const json = JSON.parse((await test.run('notifications', 'show', '3', '--json')).stdout);
    expect(Object.keys(json).sort()).toEqual([...(outputs['notifications show'] ?? [])].sort());
    expect(json).toMatchObject({ text: '{}', base64: 'e30=', state: 'waiting' });

    expect((await test.run('notifications', 'replay', '--since', '4h', '--dry-run')).stdout).toMatch(
      /^1 delivery would/,
    );
    expect((await test.run('notifications', 'replay', '--since', '2020-01-01')).stdout).toBe(
      '2 deliveries are applied again when the daemon runs.\n',
    );
    test.inbox(({ deliveries }) => {
      expect(deliveries.after(0, 9).map(({ delivery_id, replay_of }) => [delivery_id, replay_of])).toEqual([
        [3, null],
        [4, 1],
        [5, 2],
      ]);
    });
  });
});

describe('a body for a terminal', () => {
  it('is JSON with broken lines, whose values are as they were written', () => {
    expect(renderBody(Buffer.from('{"a":[1,{"b":1e400}],"c":{},"d":[ ],"e":"x,{\\"y"}'))).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": 1e400\n    }\n  ],\n  "c": {},\n  "d": [],\n  "e": "x,{\\"y"\n}',
    );
    expect(renderBody(Buffer.from('{"a":1,'))).toBe('{\n  "a": 1,\n  ');
  });

  it('is at most 4 kB, however deep', () => {
    const deep = renderBody(Buffer.from('['.repeat(200_000)));
    expect(deep.length).toBeLessThan(4200);
    expect(deep).toMatch(/\n… of 200000 bytes$/);
    expect(renderBody(Buffer.from('x'.repeat(10_000)))).toMatch(/^x{4096}\n… of 10000 bytes$/);
  });

  it('is a hex dump where it is no text, and steers no terminal', () => {
    expect(renderBody(Buffer.from([0, 255, 65]))).toBe(`00000000  00 ff 41${' '.repeat(41)}..A`);
    expect(renderBody(Buffer.from('\u009b31m\u202ex\u2028'))).toBe('\\u009b31m\\u202ex\\u2028');
  });
});
