import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Address of a name: our own host, none, or one of IPv6 that nothing routes to. */
const addresses = { usual: '127.0.0.1', none: null, 'only IPv6': 'fd00::1' } as const;
export type Resolved = keyof typeof addresses;

/** Of this process alone, so that two harnesses can run on one machine. */
const server = `127.30.${(process.pid >> 8) & 255}.${process.pid & 255}`;

/**
 * The names that this process and its children know: a list of our own in the place of `/etc/hosts`, and for every other name a
 * server that answers nothing. Needs a mount namespace.
 */
export class Names implements Disposable {
  readonly #silent = createSocket('udp4');
  readonly #usual = readFileSync('/etc/hosts', 'utf8');
  readonly #names = new Map<string, Resolved>();
  #hosts = 0;

  async mount(directory: string): Promise<void> {
    this.#silent.bind(53, server);
    await once(this.#silent, 'listening');
    const [hosts, resolver] = ['hosts', 'resolv.conf'].map((name) => join(directory, name)) as [string, string];
    writeFileSync(hosts, '', { mode: 0o644 });
    writeFileSync(resolver, `nameserver ${server}\n`, { mode: 0o644 });
    for (const file of [hosts, resolver]) tool('mount', '--bind', file, `/etc/${file.slice(directory.length + 1)}`);
    this.#hosts = openSync(hosts, 'r+');
    this.#write();
  }

  /** Makes a name known, or changes how it is resolved. */
  set(name: string, resolved: Resolved): void {
    this.#names.set(name, resolved);
    this.#write();
  }

  [Symbol.dispose](): void {
    this.#silent.close();
    closeSync(this.#hosts);
  }

  /** Writes all of it at once and at one length: whoever reads meanwhile finds every name. */
  #write(): void {
    const lines = [...this.#names].map(([name, resolved]) => {
      const address = addresses[resolved];
      return (address === null ? '' : `${address} ${name}`).padEnd(60);
    });
    writeSync(this.#hosts, `${this.#usual}\n${lines.join('\n')}\n`, 0);
  }
}

/** Runs a program; throws with what it says if it fails. */
export function tool(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout.trim();
}
