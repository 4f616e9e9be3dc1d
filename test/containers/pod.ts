import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runMark } from '../fakes/no-child-outlives.ts';

/*
 * Containers as far as a machine without an engine can run them: each process is the first of its own process namespace,
 * on a root of its own that is read-only, with the user, capabilities, environment, mounts and network of its container.
 * What it runs is this machine's: an image is not built.
 */

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What a container is run with; directories and files of this machine by the place at which it sees them. */
export interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly mounts: readonly { readonly source: string; readonly target: string; readonly read_only: boolean }[];
}

export interface Running {
  /** Everything that it has written. */
  output(): string;
  said(text: string): Promise<void>;
  /** Ends it with SIGTERM, as its engine would; returns its exit code. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
  /** Runs something in it, as `docker exec` does. */
  exec(...command: string[]): { status: number; output: string };
}

/** A network of its own, in which each name has an address. */
export interface Pod extends AsyncDisposable {
  run(container: Container): Running;
  /** Runs a program of this machine on the network. */
  outside(command: string, ...args: string[]): Running;
  /** Runs curl on the network, and returns what it writes, whatever it is answered, and why it was answered nothing. */
  curl(...args: string[]): string;
}

export async function startPod(directory: string, addresses: Readonly<Record<string, string>>): Promise<Pod> {
  const stack = new AsyncDisposableStack();
  const keep = spawn(
    'unshare',
    ['--net', 'sh', '-c', `${network(Object.values(addresses))}; echo up; exec sleep 600`],
    {
      env: marked({ PATH: process.env.PATH ?? '' }),
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  stack.defer(() => void keep.kill('SIGKILL'));
  await once(keep.stdout, 'data');
  const net = `--net=/proc/${keep.pid}/ns/net`;
  const hosts = join(directory, 'hosts');
  writeFileSync(
    hosts,
    ['127.0.0.1 localhost', ...Object.entries(addresses).map(([name, at]) => `${at} ${name}`), ''].join('\n'),
  );
  let opened = 0;
  const started = (
    command: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    inside: Inside = self,
  ): Running => {
    // A file, and no pipe: what is not root may open it again by its name, as it may in a real container.
    const log = join(directory, `${opened++}.log`);
    const output = openSync(log, 'a');
    chmodSync(log, 0o666);
    const running = watched(spawn(command, args, { env, stdio: ['ignore', output, output] }), inside, log);
    closeSync(output);
    stack.defer(async () => void (await running.stop('SIGKILL')));
    return running;
  };
  return {
    run: (container) => {
      const script = join(directory, `${container.name}.sh`);
      const at = join(directory, `${container.name}-root`);
      mkdirSync(at);
      writeFileSync(script, rootScript(at, hosts, container));
      const spaces = ['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
      return started('nsenter', [net, ...spaces, 'sh', script], marked({ PATH: process.env.PATH ?? '' }), container);
    },
    outside: (command, ...args) => started('nsenter', [net, command, ...args], marked(process.env)),
    curl: (...args) => {
      const { stdout, stderr } = spawnSync('nsenter', [net, 'curl', ...resolved(addresses), ...args], {
        encoding: 'utf8',
      });
      return `${stdout}${stderr}`;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The names, for a program that sees this machine's own hosts. */
function resolved(addresses: Readonly<Record<string, string>>): string[] {
  return Object.entries(addresses).flatMap(([name, at]) => ['--connect-to', `${name}::${at}:`]);
}

/** Who a process of a container is. */
type Inside = Pick<Container, 'user' | 'env'>;

const self: Inside = { user: { uid: 0, gid: 0 }, env: {} };

const marked = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...env, [runMark]: process.env[runMark] });

function network(addresses: readonly string[]): string {
  return ['ip link set lo up', ...addresses.map((each) => `ip addr add ${each}/24 dev lo`)].join(' && ');
}

function rootScript(at: string, hosts: string, { command, env, user, mounts }: Container): string {
  const app = ['dist', 'schema', 'package.json'].map((name) => ({
    source: join(root, name),
    target: `/app/${name}`,
    read_only: true,
  }));
  const own = [
    { source: dirname(process.execPath), target: '/opt/node', read_only: true },
    { source: hosts, target: '/etc/hosts', read_only: true },
  ];
  const become = `setpriv --reuid=${user.uid} --regid=${user.gid} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs`;
  return [
    'set -eu',
    `mount -t tmpfs -o mode=0755 image ${at} && cd ${at}`,
    'mkdir dev proc tmp etc run app',
    // What an image brings along, but for its own root: programs and libraries of this machine.
    'for each in usr bin sbin lib lib64; do',
    '  if [ -L /$each ]; then cp -P /$each .; elif [ -d /$each ]; then mkdir $each; mount --bind -o ro /$each $each; fi',
    'done',
    'cp -a /etc/. etc/',
    'mount --rbind /dev dev; mount -t proc proc proc; mount -t tmpfs -o mode=1777 tmp tmp',
    ...[...app, ...own, ...mounts].flatMap(({ source, target, read_only }) => [
      statSync(source).isDirectory() ? `mkdir -p .${target}` : `mkdir -p .${dirname(target)}; touch .${target}`,
      `mount --bind ${source} .${target}`,
      ...(read_only ? [`mount -o remount,ro,bind .${target}`] : []),
    ]),
    `cd /; mount -o remount,ro ${at}`,
    `exec chroot ${at} ${become} env -i ${variables(env).map(quoted).join(' ')} ${command.map(quoted).join(' ')}`,
    '',
  ].join('\n');
}

function watched(child: ChildProcess, { user: { uid, gid }, env }: Inside, log: string): Running {
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code: number | null) => resolve(code));
  });
  const output = () => readFileSync(log, 'utf8');
  return {
    output,
    said: (text) => until(output, (all) => all.includes(text)),
    stop: async (signal = 'SIGTERM') => {
      for (const pid of firstIn(child)) process.kill(pid, signal);
      return ended;
    },
    exec: (...command) => {
      const [pid] = firstIn(child);
      try {
        const enter = [
          '--target',
          String(pid),
          '--mount',
          '--pid',
          '--net',
          '--root',
          `--setuid=${uid}`,
          `--setgid=${gid}`,
        ];
        return {
          status: 0,
          output: execFileSync('nsenter', [...enter, 'env', '-i', '-C', '/', ...variables(env), ...command], {
            encoding: 'utf8',
            stdio: 'pipe',
          }),
        };
      } catch (error) {
        const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
        return { status, output: `${stdout}${stderr}` };
      }
    },
  };
}

/** BatchReads again and again, for what is only seen from outside; throws what was seen last. */
export async function until<Seen>(look: () => Seen, holds: (seen: Seen) => boolean): Promise<void> {
  for (let looks = 0; ; looks += 1) {
    const seen = look();
    if (holds(seen)) return;
    if (looks > 150) throw new Error(`not yet: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`);
    await setTimeout(200);
  }
}

/** The first process of the container that `unshare` has made; itself where it has made none. */
function firstIn({ pid, exitCode, signalCode }: ChildProcess): number[] {
  if (exitCode !== null || signalCode !== null) return [];
  const children = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' }).stdout.trim();
  return [Number(children === '' ? pid : children)];
}

function variables(env: Container['env']): string[] {
  const values = { PATH: '/opt/node:/usr/sbin:/usr/bin:/sbin:/bin', ...env };
  return Object.entries(values).map(([name, value]) => `${name}=${value}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
