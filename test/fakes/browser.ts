import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { temporaryDirectory } from './test-mirror.ts';

/** A tab of a real browser. */
export interface Tab {
  /** Opens an address, and waits until it is loaded. */
  open(url: string): Promise<void>;
  /** Returns the value of an expression in the page, or what its promise resolves with. */
  value<Value>(expression: string): Promise<Value>;
  /** Resolves once an expression is true, on this page or the next one. Returns false if it never is within `ms`. */
  until(expression: string, ms?: number): Promise<boolean>;
  /** Presses the mouse in the middle of the element that an expression returns, and releases it there. */
  click(element: string, whilePressed?: () => Promise<unknown>): Promise<void>;
  /** Types into the field that has the focus. */
  type(text: string): Promise<void>;
  pressEnter(): Promise<void>;
  /** Makes the screen that of a phone, or of a desk again. */
  screen(of: 'phone' | 'desk'): Promise<void>;
  /** Sends a command of the DevTools protocol. */
  send(method: string, params?: object): Promise<Record<string, unknown>>;
  /** Returns what the console has said: errors of scripts, and breaches of the content security policy. */
  console(): readonly string[];
}

/** Answer of `Runtime.evaluate`: `error` where the page was left before. */
interface Evaluated {
  readonly result?: { readonly value?: unknown };
  readonly exceptionDetails?: { readonly exception?: { readonly description?: string } };
  readonly error?: { readonly message: string };
}

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  '--window-size=1280,900',
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

/** Returns a promise of the page: of true once the expression is true after a change of the document, else of false. */
function observed(expression: string, ms: number): string {
  return `new Promise((resolve) => {
    const end = (is) => { observer.disconnect(); clearTimeout(timer); resolve(is); };
    const look = () => { try { if (${expression}) end(true); } catch {} };
    const observer = new MutationObserver(look);
    const timer = setTimeout(() => end(false), ${ms});
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    look();
  })`;
}

/** Returns the middle of an element that can be pressed; throws where there is none, or another one lies on top. */
function middleOf(element: string): string {
  return `(() => {
    const pressed = ${element};
    if (!pressed) throw new Error('there is no such element: ' + ${JSON.stringify(element)});
    pressed.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { x, y, width, height } = pressed.getClientRects()[0] ?? pressed.getBoundingClientRect();
    const middle = { x: x + width / 2, y: y + height / 2 };
    const top = document.elementFromPoint(middle.x, middle.y);
    if (!pressed.contains(top)) throw new Error('covered by ' + (top?.outerHTML ?? 'nothing').slice(0, 200) + ': ' + ${JSON.stringify(element)});
    return middle;
  })()`;
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
  const evaluate = (expression: string) =>
    send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }) as Promise<Evaluated>;
  const value = async <Value>(expression: string) => {
    const { result, exceptionDetails, error } = await evaluate(expression);
    const failed = exceptionDetails?.exception?.description ?? error?.message;
    if (failed !== undefined) throw new Error(failed);
    return result?.value as Value;
  };
  const mouse = (type: string, at: { x: number; y: number }) =>
    send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
  return {
    open: async (url) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      loaded = resolve;
      await send('Page.navigate', { url });
      await promise;
    },
    value,
    until: async (expression, ms = 20_000) => {
      // A page that is left ends its promises: the next one is asked the same.
      for (;;) {
        const { result, error } = await evaluate(observed(expression, ms));
        if (error === undefined) return result?.value === true;
      }
    },
    click: async (element, whilePressed) => {
      const at = await value<{ x: number; y: number }>(middleOf(element));
      await mouse('mousePressed', at);
      await whilePressed?.();
      await mouse('mouseReleased', at);
    },
    screen: async (of) => {
      const phone = { width: 390, height: 844, deviceScaleFactor: 2, mobile: true };
      if (of === 'phone') await send('Emulation.setDeviceMetricsOverride', phone);
      else await send('Emulation.clearDeviceMetricsOverride');
    },
    type: async (text) => {
      await send('Input.insertText', { text });
    },
    pressEnter: async () => {
      const key = { key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13 };
      for (const type of ['keyDown', 'keyUp']) await send('Input.dispatchKeyEvent', { type, ...key });
    },
    send,
    console: () => said,
  };
}
