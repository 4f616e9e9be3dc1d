import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../../src/clock.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { freePort } from '../../fakes/free-port.ts';
import { configure, run, start } from '../program.ts';
import type { RoughCase, Subject } from '../rough-case.ts';

const never = new AbortController().signal;

/** A daemon that runs and has filled its mirror. */
async function running(subject: Subject, more: Record<string, unknown> = {}, env: Record<string, string> = {}) {
  const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 5 }));
  const config = configure(subject, sandbox.url, more);
  const daemon = start(subject, ['--config', config, 'run'], { env });
  await daemon.said(/pass ended/);
  return { sandbox, config, daemon, socket: join(subject.directory, 'state', 'admin.sock') };
}

function post(socketPath: string, path: string, body: object): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = { 'content-type': 'application/json' };
  const call = request({ socketPath, path, method: 'POST', headers }, async (response) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    resolve({ status: response.statusCode ?? 0, text });
  });
  call.on('error', reject).end(JSON.stringify(body));
  return promise;
}

async function open(to: number | string, from: string, bytes: string): Promise<Socket> {
  const socket = typeof to === 'number' ? connect({ port: to, host: '127.0.0.1', localAddress: from }) : connect(to);
  socket.on('error', () => undefined);
  socket.resume();
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

export const cases: readonly RoughCase[] = [
  {
    point: '13 status',
    claim: 'status beside a hung daemon tells what the file says, and that the daemon does not answer',
    run: async (subject) => {
      const { config, daemon } = await running(subject);
      daemon.child.kill('SIGSTOP');
      const began = performance.now();
      const { code, stdout, stderr } = await run(subject, ['--config', config, 'status']);
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      const told = /does not answer|not answering/.test(stdout) && /^Products /m.test(stdout);
      return {
        green: told && code === 1 && !/\n {4}at /.test(stderr),
        said: `ended with ${code} after ${seconds} s; ${told ? 'the file and the silence are told' : stderr.split('\n')[0]}`,
      };
    },
  },
  {
    point: '13 dates',
    claim: 'dates past, beyond the horizon, of no calendar or reversed are refused, with the limit named',
    run: async (subject) => {
      const { config, sandbox, socket } = await running(subject);
      const id = String(sandbox.world.visible()[0]?.id);
      const asked = [
        ['resync', '--availability', '--from', '2020-01-01', '--to', '2020-02-01'],
        ['resync', '--availability', '--from', '2099-01-01'],
        ['check', id, '--date', '2020-01-01'],
        ['check', id, '--date', '2099-01-01'],
        ['explain', id, '--date', '2099-01-01'],
        ['order', 'confirmed', id, '--date', '2020-01-01'],
      ];
      const wrong: string[] = [];
      for (const args of asked) {
        const { code, stderr } = await run(subject, ['--config', config, ...args]);
        if (code !== 64 || !/\d{4}-\d\d-\d\d[\s\S]*\d{4}-\d\d-\d\d/.test(stderr))
          wrong.push(`${args.join(' ')}: ${code}`);
      }
      const bodies = [
        { resources: ['availability'], from: '9999-99-99' },
        { resources: ['availability'], from: '2099-01-01' },
        { resources: ['availability'], from: '2020-01-01', to: '2020-01-02' },
      ];
      for (const body of bodies) {
        const { status } = await post(socket, '/v1/resync', body);
        if (status !== 400) wrong.push(`/v1/resync ${body.from}: ${status}`);
      }
      return { green: wrong.length === 0, said: wrong.length === 0 ? 'all nine refused' : wrong.join(', ') };
    },
  },
  {
    point: '13 private address',
    claim: 'a callback address that the service cannot reach, and the default user agent, are named',
    run: async (subject) => {
      const config = configure(subject, 'https://api.example.com', {
        receiver: { public_url: 'https://10.0.0.5/hooks/here' },
      });
      const env = { CATALOGUED_RECEIVER_SECRET: 'm'.repeat(32) };
      const checked = await run(subject, ['--config', config, 'config', 'check'], { env });
      const doctor = await run(subject, ['--config', config, 'doctor'], { env });
      const row = doctor.stdout.split('\n').find((line) => line.includes('public address')) ?? '';
      const warned = /10\.0\.0\.5/.test(checked.stderr) && /user_agent/.test(checked.stderr);
      return {
        green: warned && row.startsWith('✗') && row.includes('/hooks/here'),
        said: `config check ${warned ? 'warns of both' : 'says nothing'}; doctor: ${row.trim()}`,
      };
    },
  },
  {
    point: '13 doctor lines',
    claim: 'doctor prints one line a problem',
    run: async (subject) => {
      const config = configure(subject, 'https://api.example.com', {
        retention: { changes: 'soon', deliveries: 'never' },
        log: { level: 'loud' },
      });
      const { stdout } = await run(subject, ['--config', config, 'doctor']);
      const lines = stdout.split('\n').filter((line) => /^✗/.test(line)).length;
      return { green: lines === 3, said: `three problems on ${lines} lines` };
    },
  },
  {
    point: '13 strangers',
    claim: '200 slow strangers do not crowd out an honest delivery',
    run: async (subject) => {
      const port = await freePort();
      const receiver = { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` };
      const subscriptions = [{ id: 'all', type: 'product_ids', entities: 'mirrored' }];
      const { sandbox } = await running(
        subject,
        { receiver, subscriptions, signing: { body: 'json' } },
        { CATALOGUED_RECEIVER_SECRET: 'm'.repeat(43) },
      );
      while (sandbox.subscriptions().length === 0) await systemClock.sleep(50, never);
      const path = new URL(String(sandbox.subscriptions()[0]?.callback_url)).pathname;
      const strangers: Socket[] = [];
      for (let n = 0; n < 220; n += 1) strangers.push(await open(port, '127.0.0.1', 'POST /hooks/x HTTP/1.1\r\nX: '));
      const honest = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        body: '{"subscription_id":"all","products":[]}',
        signal: AbortSignal.timeout(3000),
      }).then(
        ({ status }) => String(status),
        (error: unknown) => String((error as Error).name),
      );
      for (const socket of strangers) socket.destroy();
      return { green: honest === '200', said: `an honest delivery among 220 of them got ${honest}` };
    },
  },
  {
    point: '13 admin',
    claim: 'the admin interface bounds followers and lets slow heads go',
    run: async (subject) => {
      const { socket } = await running(subject);
      const slow = await open(socket, '', 'GET /healthz HTTP/1.1\r\nX: ');
      const gone = once(slow, 'close').then(() => true);
      const followers: Socket[] = [];
      let refused = false;
      for (let n = 0; n < 520 && !refused; n += 1) {
        const follower = await open(
          socket,
          '',
          'GET /v1/changes HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n',
        );
        followers.push(follower);
        if (n % 20 === 19)
          refused = await Promise.race([
            once(follower, 'data').then(([data]) => String(data).includes(' 503 ')),
            systemClock.sleep(2000, never).then(() => false),
          ]);
      }
      const let_go = await Promise.race([gone, systemClock.sleep(20_000, never).then(() => false)]);
      for (const each of followers) each.destroy();
      slow.destroy();
      return {
        green: refused && let_go,
        said: `${refused ? 'a follower too many is refused' : `${followers.length} followers are taken`}; a slow head ${let_go ? 'is let go' : 'stays for 20 s'}`,
      };
    },
  },
  {
    point: '13 head',
    claim: 'a command whose reader leaves ends with 0 or 141 and without a stack',
    run: async (subject) => {
      const sandbox = subject.stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 60 }));
      const config = configure(subject, sandbox.url);
      await run(subject, ['--config', config, 'resync', '--all', '--wait']);
      mkdirSync(subject.directory, { recursive: true });
      const cli = `${process.execPath} ${join(subject.root, 'dist/cli.js')} --config ${config}`;
      const ends: string[] = [];
      let green = true;
      for (const command of [
        'images audit',
        'images audit --json',
        'changes --limit 100000',
        'images audit --csv 2>&1',
      ]) {
        const script = `${cli} ${command} | head -1 > /dev/null; exit \${PIPESTATUS[0]}`;
        const { status, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8', timeout: 60_000 });
        ends.push(`${command}: ${status}`);
        green &&= (status === 0 || status === 141) && !/\n {4}at /.test(stderr);
      }
      return { green, said: ends.join(', ') };
    },
  },
];
