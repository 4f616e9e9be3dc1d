import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { freePort } from '../../fakes/free-port.ts';
import { type RunningCli, runCli, startCli } from '../../fakes/run-cli.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { testConfigText } from '../../fakes/test-config.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

/** A daemon that publishes its rows, in a process of its own that can be killed. */
export interface FollowStage extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly mirror: string;
  readonly copy: string;
  /** What `follow --from` names. */
  readonly from: string;
  /** Starts the daemon, or another one in its place, with so many calls a second. Resolves when everything was read once, and changes are announced. */
  run(calls: number): Promise<void>;
  /** Ends it without a word. */
  kill(): Promise<void>;
  resyncAll(): Promise<void>;
  /** Whether everything that was asked for has been read. */
  isRead(): boolean;
  /** Starts `catalogued follow`. Resolves when the copy stands. */
  follow(): Promise<void>;
  /** Deliveries that were stored. */
  deliveries(): number;
}

export async function followStage(
  products: number,
  prepared: (sandbox: Sandbox) => void = () => {},
): Promise<FollowStage> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ products, lean: true, hold_ms: 0, batch: 'one product' }));
  prepared(sandbox);
  const port = await freePort();
  const secret = join(path, 'receiver_secret');
  writeFileSync(secret, randomBytes(32).toString('hex'), { mode: 0o600 });
  const at = (...names: string[]) => join(path, ...names);
  const [config, mirror, inbox, copy] = [
    at('c.yaml'),
    at('mirror', 'mirror.db'),
    at('state', 'inbox.db'),
    at('copy', 'mirror.db'),
  ];
  const from = `unix:${at('shop', 'storefront.sock')}`;
  for (const folder of ['shop', 'copy']) mkdirSync(at(folder));
  const asked = (file: string, sql: string) => {
    const db = new Database(file, { readonly: true, timeout: 5000 });
    try {
      return Number(db.prepare(sql).pluck().get());
    } finally {
      db.close();
    }
  };
  const daemon = { running: null as RunningCli | null };
  const follower = { running: null as RunningCli | null };
  for (const each of [daemon, follower]) stack.defer(async () => void (await each.running?.end()));
  const until = async (done: () => boolean, { running }: typeof daemon) => {
    while (!done()) {
      if (running?.child.exitCode !== null)
        throw new Error(`a process has ended: ${JSON.stringify(await running?.ended)}`);
      await setTimeout(20);
    }
  };
  const isReady = () =>
    asked(mirror, 'SELECT filled_at IS NOT NULL FROM _mirror') === 1 &&
    asked(mirror, "SELECT count(*) FROM _subscription WHERE status = 'active'") === 1;
  const closing = stack.move();
  return {
    ...{ sandbox, mirror, copy, from },
    run: async (calls) => {
      await daemon.running?.end();
      writeFileSync(
        config,
        testConfigText(path, sandbox.url, {
          budget: { requests_per_second: calls, concurrency: 4 },
          signing: { body: 'json' },
          rows: { publish: true },
          storefront: { listen: from },
          receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks`, secret_file: secret },
          subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
        }),
      );
      daemon.running = startCli(['--config', config, 'run'], { cwd: path });
      await daemon.running.said('daemon started');
      await until(isReady, daemon);
    },
    kill: async () => void (await daemon.running?.end('SIGKILL')),
    resyncAll: async () => {
      const { code, stderr } = await runCli(['--config', config, 'resync', '--all'], { cwd: path });
      if (code !== 0) throw new Error(`no resync: ${stderr}`);
    },
    isRead: () => asked(mirror, 'SELECT count(*) FROM _job WHERE finished_at IS NULL') === 0,
    follow: async () => {
      follower.running = startCli(['follow', '--from', from, copy], { cwd: path });
      await until(() => existsSync(copy), follower);
    },
    deliveries: () => asked(inbox, 'SELECT count(*) FROM delivery'),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** How long changed rows have taken from the mirror to the copy, in milliseconds, by what both files show. */
export interface Lag {
  /** Ends when the copy is as far as the mirror is now. */
  level(): Promise<void>;
  stop(): readonly number[];
}

export function watchLag({ mirror, copy }: FollowStage): Lag {
  const [ours, theirs] = [mirror, copy].map((path) => new Database(path, { readonly: true, timeout: 5000 }));
  const written = ours?.prepare("SELECT seq FROM sqlite_sequence WHERE name = '_row'").pluck();
  const reached = theirs?.prepare('SELECT number FROM _followed').pluck();
  const waiting: { readonly number: number; readonly at: number }[] = [];
  const lags: number[] = [];
  const numbers = () => [Number(written?.get()), Number(reached?.get())] as const;
  let [known] = numbers();
  const timer = setInterval(() => {
    const now = performance.now();
    const [number, copied] = numbers();
    if (number > known) waiting.push({ number, at: now });
    known = number;
    while (waiting[0] !== undefined && waiting[0].number <= copied) lags.push(now - (waiting.shift()?.at ?? now));
  }, 5);
  return {
    level: async () => {
      const [goal] = numbers();
      while (numbers()[1] < goal) await setTimeout(5);
    },
    stop: () => {
      clearInterval(timer);
      ours?.close();
      theirs?.close();
      return lags.toSorted((a, b) => a - b);
    },
  };
}
