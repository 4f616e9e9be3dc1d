import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { type RunningCli, startCli } from '../fakes/run-cli.ts';
import { runHere } from '../fakes/run-here.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { thorough } from '../fakes/thorough.ts';

/** A look, or a round of posts, is so far from the next: without a pause they would take the processor from the daemon. */
const apartMs = 3;

/** Posts to these addresses again and again; what was answered, by address. Nobody there is no answer. */
function posters(addresses: () => readonly string[]) {
  const answers = new Map<string, Map<number, number>>();
  let posting = true;
  const work = (async () => {
    while (posting) {
      for (const address of addresses()) {
        const status = await fetch(address, { method: 'POST', body: '{}' }).then(
          (response) => response.status,
          () => 0,
        );
        const counts = answers.get(address) ?? new Map<number, number>();
        answers.set(address, counts.set(status, (counts.get(status) ?? 0) + 1));
      }
      await setTimeout(apartMs);
    }
  })();
  return {
    answers,
    stop: async () => {
      posting = false;
      await work;
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(apartMs);
}

type Kill =
  | 'before it is asked for'
  | 'with the PUT on its way'
  | 'with the PUT in effect and no answer'
  | 'as it is answered';

const spoilt: Readonly<Record<Kill, Omit<FaultRule, 'kind'> | null>> = {
  'before it is asked for': null,
  'with the PUT on its way': { effect: 'none' },
  'with the PUT in effect and no answer': { effect: 'taken' },
  'as it is answered': null,
};

const all = Object.keys(spoilt) as Kill[];
// Else the one in which the service knows more than the daemon.
const tried = thorough ? all : all.slice(2, 3);

it.each(tried)(
  'a rotation that is killed %s refuses no address within its grace, and the old one after it',
  async (kill) => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    await using sandbox = await startSandbox({ products: 5, lean: true, hold_ms: 0 });
    const port = await freePort();
    const config = writeTestConfig(cwd, sandbox.url, {
      signing: { body: 'json' },
      receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
      subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
    });
    const options = { cwd, env: { CATALOGUED_RECEIVER_SECRET: canary.master } };
    const start = async (): Promise<RunningCli> => {
      const daemon = startCli(['--config', config, 'run'], options);
      await daemon.said('daemon started');
      return daemon;
    };
    const ask = async (...args: string[]) =>
      (await runHere(['--config', config, 'subscription', ...args], options)).code;
    const address = () => sandbox.subscriptions()[0]?.callback_url ?? '';
    let daemon = await start();
    await daemon.said('pass ended');
    await ask('apply');
    const old = address();
    // What the service would call now, and what it called before: neither may be refused.
    const posting = posters(() => [...new Set([old, address()])]);

    const rule = spoilt[kill];
    if (rule !== null) sandbox.faults.add({ kind: 'hang', method: 'PUT', times: 1, ...rule });
    if (kill !== 'before it is asked for') {
      const asked = ask('rotate', 'all');
      // The PUT hangs. Any other call may be one of the daemon's own reads.
      await until(() => (rule?.effect === 'none' ? sandbox.sleeping() > 0 : address() !== old));
      daemon.child.kill('SIGKILL');
      await asked;
    } else daemon.child.kill('SIGKILL');
    await daemon.ended;
    daemon = await start();
    if (kill === 'before it is asked for') expect(await ask('rotate', 'all')).toBe(0);
    await until(() => address() !== old);
    const reached = () => posting.answers.get(address())?.get(200) ?? 0;
    await until(() => reached() >= 5);
    expect(await ask('apply')).toBe(0);
    await posting.stop();
    for (const counts of posting.answers.values()) {
      expect([...counts.keys()].filter((status) => status !== 200 && status !== 0)).toEqual([]);
      expect(counts.get(200) ?? 0).toBeGreaterThan(0);
    }
    daemon.child.kill('SIGTERM');
    await daemon.ended;

    // A week later, so to speak.
    const inbox = new Database(join(cwd, 'state', 'inbox.db'));
    expect(inbox.prepare('UPDATE callback_epoch SET until = 1 WHERE until IS NOT NULL').run().changes).toBe(1);
    inbox.close();
    daemon = await start();
    const after = async (url: string) => (await fetch(url, { method: 'POST', body: '{}' })).status;
    expect([await after(old), await after(address())]).toEqual([404, 200]);
    daemon.child.kill('SIGTERM');
    await daemon.ended;
  },
  // A start that does not trust its clock yet, or whose first PUT fails, continues a rotation a minute later.
  180_000,
);
