import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../fakes/free-port.ts';

/** An example storefront as its own process. */
export interface Shop extends AsyncDisposable {
  get(path: string): Promise<{ status: number; html: string }>;
  post(path: string, form: Readonly<Record<string, string>>): Promise<{ status: number; html: string }>;
  /** What it has printed: its own complaints among it. */
  printed(): string;
}

const commands = {
  PHP: (port: number) => ['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, 'index.php'],
  Python: (port: number) => ['python3', '-B', 'shop.py', String(port)],
};

export type ShopLanguage = keyof typeof commands;
export const shopLanguages = Object.keys(commands) as ShopLanguage[];

export interface ShopOptions {
  readonly mirror: string;
  /** `unix:///path` or `tcp://127.0.0.1:port`. */
  readonly door: string;
  readonly token?: string;
  /** Where its files are; the example's own if not given. */
  readonly directory?: string;
}

export const shopDirectory = (language: ShopLanguage) => join(import.meta.dirname, language.toLowerCase());

export async function startShop(language: ShopLanguage, options: ShopOptions): Promise<Shop> {
  const { mirror, door, token, directory = shopDirectory(language) } = options;
  const port = await freePort();
  const [command = '', ...args] = commands[language](port);
  const child = spawn(command, args, {
    cwd: directory,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: '/nonexistent',
      MIRROR: mirror,
      // Where its files are copied elsewhere.
      SEARCH_SQL: join(import.meta.dirname, '../../schema/search.sql'),
      DAEMON: door,
      ...(token && { DAEMON_TOKEN: token }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const keep = (chunk: Buffer) => {
    printed += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  for (let listens = false; !listens; listens = await answers(port)) {
    if (child.exitCode !== null) throw new Error(`the storefront in ${language} ended: ${printed}`);
    await setTimeout(10);
  }
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { status: answer.status, html: await answer.text() };
  };
  return {
    get: (path) => ask(path),
    post: (path, form) => ask(path, { method: 'POST', body: new URLSearchParams(form) }),
    printed: () => printed,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Returns whether somebody listens there. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
