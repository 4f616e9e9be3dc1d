import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { type OwnAuthority, ownAuthority } from '../../fakes/own-authority.ts';
import { type Names, type Resolved, tool } from './names.ts';
import type { RealWorld } from './real-world.ts';
import type { Certificate, Fault } from './way.ts';

export type Family = 'away' | 'status' | 'connection' | 'portal' | 'tls' | 'dns' | 'files' | 'process';

/** What the days share. */
export interface Tools {
  readonly names: Names | null;
  readonly certificates: { readonly good: Certificate; readonly expired: Certificate; readonly ca: string };
}

/** What goes wrong on a day, and what sets it right. */
interface Trouble {
  begin(world: RealWorld, tools: Tools): Promise<void>;
  end(world: RealWorld, tools: Tools): Promise<void>;
}

/** One ordinary bad day. */
export interface Day extends Trouble {
  readonly family: Family;
  readonly name: string;
  /** Seconds that it lasts. */
  readonly lasts: number;
  /** The same in the short form; absent: it is in the whole table only. */
  readonly short?: number;
  /** It is there when the daemon is first started. */
  readonly first?: true;
  /** Needs root: mounts, or names of our own. */
  readonly root?: true;
  readonly tls?: true;
  /** Under which name the daemon knows the service. */
  readonly host?: string;
  /** Exit codes that docs/troubleshooting.md names for it. */
  readonly exits?: readonly number[];
  /** Seconds by which the receiver and the checks may be silent for longer than otherwise: the process itself stands still. */
  readonly still?: (lasts: number) => number;
  /** The condition that must hold near the end of the day; and for how many seconds it must have lasted for that. */
  readonly condition?: { readonly code: string; readonly after: number };
  /** The daemon is not troubled: neither a condition nor a line is expected. */
  readonly quiet?: true;
  /** Called before the daemon's first start. */
  prepare?(world: RealWorld, tools: Tools): void;
}

/** A day on which something stands between the daemon and the service. */
function onTheWay(fault: Fault | ((tools: Tools) => Fault)): Trouble {
  return {
    begin: ({ way }, tools) => way.begin(typeof fault === 'function' ? fault(tools) : fault),
    end: ({ way }) => way.begin({}),
  };
}

/** Answers every call in the same way. */
function always(status: number, headers: OutgoingHttpHeaders, body: string | Buffer): Trouble {
  return onTheWay({
    answer: (call, answer) => {
      call.resume();
      answer.writeHead(status, headers).end(body);
    },
  });
}

/** Answers 500 for three products in forty. */
const someFail: Fault['answer'] = (call, answer, pass) => {
  const id = /\/products\/(\d+)/.exec(call.url ?? '')?.[1];
  if (id === undefined || !failing.has(Number(id))) return pass();
  call.resume();
  answer.writeHead(500, json).end('{"message":"internal error"}');
};
const failing = new Set<number>();

/** A day on which the service's name is resolved in another way. */
function resolved(host: string, as: Resolved) {
  const trouble: Trouble & Pick<Day, 'prepare'> = {
    prepare: (_, { names }) => names?.set(host, 'usual'),
    begin: async ({ way }, { names }) => {
      names?.set(host, as);
      way.cut();
    },
    end: async (_, { names }) => names?.set(host, 'usual'),
  };
  return { host, root: true, tls: true, ...trouble } as const;
}

/** Sets a soft limit of the running daemon, and of each that is started meanwhile. */
function limited(limit: string, usual: string): Trouble {
  // A daemon that has just ended has no limits.
  const set = (pid: number, value: string) => void spawnSync('prlimit', ['--pid', String(pid), value]);
  return {
    begin: async (world) => {
      world.started = (pid) => set(pid, limit);
      set(world.pid, limit);
    },
    end: async (world) => {
      world.started = () => undefined;
      set(world.pid, usual);
    },
  };
}

/** A day on which the daemon runs under something else, which it is stopped and started for. */
function under(...command: string[]): Trouble {
  const again = async (world: RealWorld, args: readonly string[]) => {
    await world.stop();
    world.under = args;
    world.run();
  };
  return { begin: (world) => again(world, command), end: (world) => again(world, []) };
}

/** A file system that has met an error, as of a failing disk: `mount -o remount,ro` refuses while a file is open. */
const readOnly: Trouble & Pick<Day, 'prepare'> = {
  prepare: ({ directory, data }) => {
    tool('truncate', '-s', '2G', `${directory}/disk`);
    tool('mkfs.ext4', '-q', '-O', '^has_journal', `${directory}/disk`);
    tool('mount', '-o', 'loop,errors=remount-ro', `${directory}/disk`, data);
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
};

const stopped: Trouble = {
  begin: async (world) => world.signal('SIGSTOP'),
  end: async (world) => world.signal('SIGCONT'),
};
const logless: Trouble = { begin: async (world) => world.closeLog(), end: async () => undefined };

const html = { 'content-type': 'text/html' };
const json = { 'content-type': 'application/json' };
const gzip = { ...json, 'content-encoding': 'gzip' };
const page = '<!doctype html><html><body><h1>Welcome to Hotel Wi-Fi</h1><form action="/login"></form></body></html>';
const garbage = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), randomBytes(300)]);
const unreachable = { condition: { code: 'service-unreachable', after: 50 } } as const;
const mayEnd = { exits: [74], still: (lasts: number) => lasts + 20 } as const;
const expired = ({ certificates }: Tools): Fault => ({ certificate: certificates.expired });
const [refused, reset, unanswered, late] = [
  onTheWay({ refuses: true }),
  onTheWay({ connection: (socket) => void socket.resetAndDestroy() }),
  onTheWay({ answer: (call) => void call.resume() }),
  onTheWay({ answer: (_, __, pass) => void setTimeout(pass, 13_000) }),
];
// A few products that fail are shown as `Failing` until they have failed for long.
const someProducts: Trouble & Pick<Day, 'prepare'> = {
  ...onTheWay({ answer: someFail }),
  prepare: ({ ids }) => {
    for (const id of ids.slice(0, 3)) failing.add(id);
  },
};

// biome-ignore format: a row a day
export const days: readonly Day[] = [
  { family: 'away', name: 'service away for 2 min', lasts: 120, short: 52, ...unreachable, ...refused },
  { family: 'away', name: 'service away for 6 min', lasts: 360, ...unreachable, ...refused },
  { family: 'status', name: 'every call answered 500', lasts: 180, short: 20, ...always(500, json, '{"message":"internal error"}') },
  { family: 'status', name: '3 of 40 products answer 500 in the first fill', lasts: 120, first: true, quiet: true, ...someProducts },
  { family: 'connection', name: 'each connection reset', lasts: 180, short: 20, ...unreachable, ...reset },
  { family: 'connection', name: 'accepted and never answered', lasts: 180, ...unreachable, ...unanswered },
  { family: 'connection', name: 'each answer 13 s late', lasts: 180, quiet: true, ...late },
  { family: 'portal', name: 'captive portal: 200 with HTML', lasts: 180, short: 20, ...always(200, html, page) },
  { family: 'portal', name: 'captive portal: {"success":true}', lasts: 180, ...always(200, json, '{"success":true}') },
  { family: 'portal', name: 'captive portal: 302 to a login page', lasts: 180, ...always(302, { location: 'http://login.example/portal' }, '') },
  { family: 'portal', name: 'gzip garbage', lasts: 180, ...always(200, gzip, garbage) },
  { family: 'tls', name: 'TLS certificate expired', lasts: 180, short: 20, tls: true, ...unreachable, ...onTheWay(expired) },
  { family: 'dns', name: 'name server answers nothing', lasts: 180, short: 20, ...unreachable, ...resolved('nothing.days.test', 'none') },
  { family: 'dns', name: 'name has only an IPv6 address', lasts: 180, ...unreachable, ...resolved('six.days.test', 'only IPv6') },
  { family: 'files', name: 'data directory read-only', lasts: 120, root: true, ...mayEnd, ...readOnly },
  { family: 'files', name: 'RLIMIT_FSIZE of 1 MiB', lasts: 120, ...mayEnd, ...limited('--fsize=1048576:', '--fsize=unlimited:') },
  { family: 'files', name: 'ulimit -n 64', lasts: 120, short: 20, quiet: true, still: () => 10, ...under('prlimit', '--nofile=64:64') },
  { family: 'process', name: 'SIGSTOP for 3 min', lasts: 180, short: 15, still: (lasts) => lasts, quiet: true, ...stopped },
  { family: 'process', name: 'log pipe closed', lasts: 60, quiet: true, ...logless },
];

/** Returns two certificates for every host of the days: one that holds, and one that has expired. */
export function certificatesOf({ directory, ca, cert, key }: OwnAuthority): Tools['certificates'] {
  const [request, ca_key, extensions, out] = ['request.pem', 'ca-key.pem', 'extensions', 'expired.pem'].map((name) =>
    join(directory, name),
  ) as [string, string, string, string];
  const by = ['-CA', ca, '-CAkey', ca_key, '-CAcreateserial', '-extfile', extensions];
  tool('openssl', 'x509', '-req', '-in', request, ...by, '-days', '-1', '-out', out);
  const of = (file: string) => ({ key: readFileSync(key), cert: readFileSync(file) });
  return { good: of(cert), expired: of(out), ca };
}

export const authority = (): OwnAuthority => ownAuthority('IP:127.0.0.1,DNS:nothing.days.test,DNS:six.days.test');
