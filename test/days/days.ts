import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate, Fault } from './proxy.ts';
import type { Answering, Resolver } from './resolver.ts';
import { tool, type World } from './world.ts';

export type Family = 'away' | 'status' | 'connection' | 'portal' | 'tls' | 'dns' | 'files' | 'process';

/** What the days share. */
export interface Tools {
  readonly resolver: Resolver | null;
  readonly certificates: { readonly good: Certificate; readonly expired: Certificate; readonly ca: string };
}

/** One ordinary bad day. */
export interface Day {
  readonly family: Family;
  readonly name: string;
  /** Seconds that it lasts. */
  readonly lasts: number;
  /** The same in the short form; absent: it is in the whole table only. */
  readonly short?: number;
  /** It is there when the daemon is first started. */
  readonly first?: true;
  /** Needs root: mounts, or a name server on port 53. */
  readonly root?: true;
  readonly tls?: true;
  /** Under which name the daemon knows the service. */
  readonly host?: string;
  /** Exit codes that docs/troubleshooting.md names for it. */
  readonly exits?: readonly number[];
  /** Seconds by which the receiver and the checks may be silent for longer than otherwise: the process itself stands still. */
  readonly still?: (lasts: number) => number;
  /** The condition that must hold near the end of the day; and for how many seconds it must have lasted for that. */
  readonly condition?: { readonly code: RegExp; readonly after: number };
  /** The daemon is not troubled: neither a condition nor a line is expected. */
  readonly quiet?: true;
  /** Called before the daemon's first start. */
  prepare?(world: World, tools: Tools): void;
  begin(world: World, tools: Tools): Promise<void>;
  end(world: World, tools: Tools): Promise<void>;
}

/** A day on which something stands between the daemon and the service. */
function onTheWay(fault: Fault | ((tools: Tools) => Fault)): Pick<Day, 'begin' | 'end'> {
  return {
    begin: async ({ proxy }, tools) => proxy.begin(typeof fault === 'function' ? fault(tools) : fault),
    end: async ({ proxy }) => proxy.begin({}),
  };
}

/** Answers every call in the same way. */
function always(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): Pick<Day, 'begin' | 'end'> {
  return onTheWay({
    answer: (call, answer) => {
      call.resume();
      answer.writeHead(status, headers).end(body);
    },
  });
}

function resolved(
  host: string,
  answering: Answering,
): Pick<Day, 'host' | 'root' | 'tls' | 'prepare' | 'begin' | 'end'> {
  return {
    host,
    root: true,
    tls: true,
    prepare: (_, { resolver }) => resolver?.set(host, 'usual'),
    begin: async ({ proxy }, { resolver }) => {
      resolver?.set(host, answering);
      proxy.cut();
    },
    end: async (_, { resolver }) => resolver?.set(host, 'usual'),
  };
}

/** Sets a soft limit of the running daemon, and of each that is started meanwhile. */
function limited(limit: string, normal: string): Pick<Day, 'begin' | 'end'> {
  // A daemon that has just ended has no limits.
  const set = (pid: number, value: string) => void spawnSync('prlimit', ['--pid', String(pid), value]);
  return {
    begin: async (world) => {
      world.started = (pid) => set(pid, limit);
      set(world.pid, limit);
    },
    end: async (world) => {
      world.started = () => undefined;
      set(world.pid, normal);
    },
  };
}

const html = { 'content-type': 'text/html' };
const page = '<!doctype html><html><body><h1>Welcome to Hotel Wi-Fi</h1><form action="/login"></form></body></html>';
const unreachable = { code: /service-unreachable/, after: 60 };

/** Answers 500 for three products in forty, those with the first numbers. */
const someFail: Fault['answer'] = (call, answer, pass) => {
  const id = /\/products\/(\d+)/.exec(call.url ?? '')?.[1];
  if (id === undefined || !failing.has(Number(id))) return pass();
  call.resume();
  answer.writeHead(500, { 'content-type': 'application/json' }).end('{"message":"internal error"}');
};
const failing = new Set<number>();

export const days: readonly Day[] = [
  {
    family: 'away',
    name: 'service away for 2 min',
    lasts: 120,
    short: 52,
    condition: { code: /service-unreachable/, after: 50 },
    ...onTheWay({ refuses: true }),
  },
  {
    family: 'away',
    name: 'service away for 6 min',
    lasts: 360,
    condition: unreachable,
    ...onTheWay({ refuses: true }),
  },
  {
    family: 'status',
    name: 'every call answered 500',
    lasts: 180,
    short: 20,
    ...always(500, { 'content-type': 'application/json' }, '{"message":"internal error"}'),
  },
  {
    family: 'status',
    name: '3 of 40 products answer 500 in the first fill',
    lasts: 120,
    first: true,
    // A few products that fail are shown as `Failing` until they have failed for long.
    quiet: true,
    ...onTheWay({ answer: someFail }),
    prepare: ({ ids }) => {
      for (const id of ids.slice(0, 3)) failing.add(id);
    },
  },
  {
    family: 'connection',
    name: 'each connection reset',
    lasts: 180,
    short: 20,
    condition: unreachable,
    ...onTheWay({ connection: (socket) => void socket.resetAndDestroy() }),
  },
  {
    family: 'connection',
    name: 'accepted and never answered',
    lasts: 180,
    condition: unreachable,
    ...onTheWay({ answer: (call) => void call.resume() }),
  },
  {
    family: 'connection',
    name: 'each answer 13 s late',
    lasts: 180,
    quiet: true,
    ...onTheWay({ answer: (_, __, pass) => void setTimeout(pass, 13_000) }),
  },
  { family: 'portal', name: 'captive portal: 200 with HTML', lasts: 180, short: 20, ...always(200, html, page) },
  {
    family: 'portal',
    name: 'captive portal: {"success":true}',
    lasts: 180,
    ...always(200, { 'content-type': 'application/json' }, '{"success":true}'),
  },
  {
    family: 'portal',
    name: 'captive portal: 302 to a login page',
    lasts: 180,
    ...always(302, { location: 'http://login.example/portal' }, ''),
  },
  {
    family: 'portal',
    name: 'gzip garbage',
    lasts: 180,
    ...always(
      200,
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), randomBytes(300)]),
    ),
  },
  {
    family: 'tls',
    name: 'TLS certificate expired',
    lasts: 180,
    short: 20,
    tls: true,
    condition: unreachable,
    ...onTheWay(({ certificates }) => ({ certificate: certificates.expired })),
  },
  {
    family: 'dns',
    name: 'name server answers nothing',
    lasts: 180,
    short: 20,
    condition: unreachable,
    ...resolved('nothing.days.test', 'nothing'),
  },
  {
    family: 'dns',
    name: 'name has only an IPv6 address',
    lasts: 180,
    condition: unreachable,
    ...resolved('six.days.test', 'only IPv6'),
  },
  {
    family: 'files',
    name: 'data directory read-only',
    lasts: 120,
    root: true,
    exits: [74],
    still: (lasts) => lasts + 20,
    // A file system that has met an error, as of a failing disk: `mount -o remount,ro` refuses while a file is open.
    prepare: (world) => {
      const image = `${world.directory}/disk`;
      tool('truncate', '-s', '2G', image);
      tool('mkfs.ext4', '-q', '-O', '^has_journal', image);
      tool('mount', '-o', 'loop,errors=remount-ro', image, world.data);
    },
    begin: async ({ data }) => {
      const device = tool('findmnt', '-n', '-o', 'SOURCE', data).split('/').at(-1);
      writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, 'a failing disk');
    },
    end: async (world) => {
      await world.stop();
      tool('umount', world.data);
      tool('mount', '-o', 'loop,errors=remount-ro', `${world.directory}/disk`, world.data);
      world.run();
    },
  },
  {
    family: 'files',
    name: 'RLIMIT_FSIZE of 1 MiB',
    lasts: 120,
    exits: [74],
    still: (lasts) => lasts + 20,
    ...limited('--fsize=1048576:', '--fsize=unlimited:'),
  },
  {
    family: 'files',
    name: 'ulimit -n 64',
    lasts: 120,
    short: 20,
    quiet: true,
    // It is stopped and started twice.
    still: () => 10,
    begin: async (world) => {
      await world.stop();
      world.under = ['prlimit', '--nofile=64:64'];
      world.run();
    },
    end: async (world) => {
      await world.stop();
      world.under = [];
      world.run();
    },
  },
  {
    family: 'process',
    name: 'SIGSTOP for 3 min',
    lasts: 180,
    short: 15,
    still: (lasts) => lasts,
    quiet: true,
    begin: async (world) => world.signal('SIGSTOP'),
    end: async (world) => world.signal('SIGCONT'),
  },
  {
    family: 'process',
    name: 'log pipe closed',
    lasts: 60,
    quiet: true,
    begin: async (world) => world.closeLog(),
    end: async () => undefined,
  },
];

/** Makes an authority and two certificates for every host of the days: one that holds, and one that has expired. */
export function certificatesIn(directory: string, read: (file: string) => Buffer): Tools['certificates'] {
  mkdirSync(directory, { recursive: true });
  const file = (name: string) => join(directory, name);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const program = 'openssl';
  tool(
    program,
    'req',
    '-x509',
    ...curve,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem'),
    '-subj',
    '/CN=days',
    '-days',
    '2',
  );
  writeFileSync(file('names'), 'subjectAltName=IP:127.0.0.1,DNS:nothing.days.test,DNS:six.days.test');
  const signed = (name: string, ...until: string[]): Certificate => {
    tool(program, 'req', ...curve, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`), '-subj', '/CN=service');
    const by = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-extfile', file('names')];
    tool(program, 'x509', '-req', '-in', file(`${name}.csr`), '-out', file(`${name}.pem`), ...by, ...until);
    return { key: read(file(`${name}.key`)), cert: read(file(`${name}.pem`)) };
  };
  return { good: signed('good', '-days', '2'), expired: signed('expired', '-days', '-1'), ca: file('ca.pem') };
}
