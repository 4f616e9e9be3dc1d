import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { temporaryDirectory } from './test-mirror.ts';

/** A tab of a real browser. */
export interface Tab {
  /** Opens an address, and waits until it is loaded. */
  open(url: string): Promise<void>;
  /** Returns the value of an expression in the page, or what its promise resolves with. */
  value<Value>(expression: string): Promise<Value>;
  /** Sends a command of the DevTools protocol. */
  send(method: string, params?: object): Promise<Record<string, unknown>>;
  /** Returns what the console has said: errors of scripts, and breaches of the content security policy. */
  console(): readonly string[];
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  '--remote-debugging-port=0',
];

/** Starts Chromium with one tab. Disposing ends it. */
export async function startBrowser(): Promise<Tab & AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  const home = stack.use(temporaryDirectory());
  const child = spawn('chromium', [...flags, `--user-data-dir=${home.path}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  stack.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const tab = await connectTo(await portOf(child.stderr));
  return { ...tab, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Chromium prints the address at which it is controlled. */
async function portOf(stderr: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  createInterface(stderr).on('line', (line) => {
    const [, port] = /DevTools listening on ws:\/\/[^:]+:(\d+)/.exec(line) ?? [];
    if (port !== undefined) resolve(port);
  });
  return await promise;
}

async function connectTo(port: string): Promise<Tab> {
  const tabs = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(tabs[0]?.webSocketDebuggerUrl ?? '');
  const answers = new Map<number, (answer: Record<string, unknown>) => void>();
  const said: string[] = [];
  let loaded: () => void = () => undefined;
  let sent = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error } = JSON.parse(String(data));
    if (method === 'Page.loadEventFired') loaded();
    if (method === 'Log.entryAdded') said.push(String(params.entry.text));
    if (method === 'Runtime.exceptionThrown') said.push(JSON.stringify(params.exceptionDetails));
    answers.get(id)?.(result ?? { error });
    answers.delete(id);
  });
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
  const send = (method: string, params: object = {}) => {
    sent += 1;
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
    answers.set(sent, resolve);
    socket.send(JSON.stringify({ id: sent, method, params }));
    return promise;
  };
  for (const domain of ['Page', 'Runtime', 'Log']) await send(`${domain}.enable`);
  return {
    open: async (url) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      loaded = resolve;
      await send('Page.navigate', { url });
      await promise;
    },
    value: async <Value>(expression: string) => {
      const answer = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      return (answer.result as { value: Value }).value;
    },
    send,
    console: () => said,
  };
}
