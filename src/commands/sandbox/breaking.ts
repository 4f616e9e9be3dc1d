import type { FaultRule } from '../../sandbox/rough/faults.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxProduct } from '../../sandbox/world/catalogue.ts';
import type { Reader } from '../../storefront/reader.ts';

/* Breaks the simulated service on demand: the buttons beside the demo's shop. */

/** The product and the date that a button changes. */
export interface Target {
  readonly product_id: number;
  readonly date: string;
}

/** A button, and what it does next. */
export interface Button {
  readonly name: DeedName;
  readonly label: string;
  /** Text beside the button: the way in which the daemon learns of the change. */
  readonly about: string;
  readonly state: 'whole' | 'broken';
  /** The target of the last press, on which its undo acts. */
  readonly target: Target | null;
}

export interface BreakingPorts {
  readonly sandbox: Sandbox;
  readonly reader: Reader;
  /** Address of the operator's interface, which needs no token. */
  readonly page: string;
}

interface Deed {
  readonly label: string;
  readonly undo: string;
  readonly about: string;
  /** Changes the service. Returns the function that changes it back. */
  begin(target: Target): Undo | Promise<Undo>;
  /** Makes the daemon ask, after `begin` and after its undo, where the service announces nothing. */
  ask?(target: Target): Promise<unknown>;
}

type Undo = () => void | Promise<void>;

export type DeedName = 'close' | 'sell-out' | 'price' | 'image' | 'empty' | 'key' | 'away';

interface Press {
  readonly target: Target;
  readonly undo: Undo | null;
}

/** The newest lines that the daemon has logged. */
export class DaemonLog {
  #lines: readonly string[] = [];

  write(line: string): void {
    this.#lines = [...this.#lines.slice(-199), line.trim()];
  }

  newest(count: number): readonly string[] {
    return this.#lines.slice(-count);
  }
}

/** The buttons. */
export class Breaking {
  readonly #sandbox: Sandbox;
  readonly #deeds: Readonly<Record<DeedName, Deed>>;
  /** The last press of each button. */
  readonly #presses = new Map<DeedName, Press>();
  /** The press under way: the next one waits for it. */
  #pressing: Promise<void> = Promise.resolve();

  constructor(ports: BreakingPorts) {
    this.#sandbox = ports.sandbox;
    this.#deeds = deeds(ports);
  }

  buttons(): readonly Button[] {
    return (Object.keys(this.#deeds) as DeedName[]).map((name) => {
      const { label, undo, about } = this.#deeds[name];
      const press = this.#presses.get(name) ?? null;
      const isBroken = press !== null && press.undo !== null;
      return {
        name,
        label: isBroken ? undo : label,
        about,
        state: isBroken ? 'broken' : 'whole',
        target: press?.target ?? null,
      };
    });
  }

  /** Returns the date on which the last press acted on a product; null: none did. */
  dateOf(product_id: number): string | null {
    return [...this.#presses.values()].findLast(({ target }) => target.product_id === product_id)?.target.date ?? null;
  }

  /** Returns whether buttons can change a product on a date. */
  isTarget({ product_id, date }: Target): boolean {
    const isDate = /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date));
    return isDate && this.#sandbox.products().some(({ id }) => id === product_id);
  }

  isButton(name: string): name is DeedName {
    return Object.hasOwn(this.#deeds, name);
  }

  /** Breaks something, or undoes it. Resolves once the service has changed, or rejects with the reason why it has not. */
  async press(name: DeedName, wanted: Target): Promise<void> {
    const pressed = this.#pressing.then(() => this.#press(name, wanted));
    this.#pressing = pressed.catch(() => undefined);
    await pressed;
  }

  async #press(name: DeedName, wanted: Target): Promise<void> {
    const deed = this.#deeds[name];
    const before = this.#presses.get(name) ?? null;
    const target = before?.undo == null ? wanted : before.target;
    let undo: Undo | null = null;
    if (before?.undo == null) undo = await deed.begin(target);
    else await before.undo();
    // The last press stands last.
    this.#presses.delete(name);
    this.#presses.set(name, { target, undo });
    // Not awaited: it takes as long as the service lets it.
    void deed.ask?.(target).catch(() => undefined);
  }
}

/** The buttons' effects. A text beside each says what the real service would do. */
function deeds({ sandbox, reader, page }: BreakingPorts): Readonly<Record<DeedName, Deed>> {
  const { world } = sandbox;
  const faults = new Map<DeedName, readonly FaultRule[]>();
  /** Faults that were added can only be cleared together. */
  const injected = (name: DeedName, rules: readonly FaultRule[]): Undo => {
    const apply = () => {
      sandbox.faults.clear();
      for (const rule of [...faults.values()].flat()) sandbox.faults.add(rule);
    };
    faults.set(name, rules);
    apply();
    return () => {
      faults.delete(name);
      apply();
    };
  };
  /** Has the daemon read something now, like `catalogued resync`. */
  const resync = async (body: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${page}/v1/resync`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const check = ({ product_id, date }: Target) => reader.check({ product_id, date });
  const announced = 'The service announces it.';
  const asked =
    'The service announces no such change: a check by a shopper finds it, and then everybody sees it. The demo checks now.';
  return {
    close: {
      label: 'Close this product',
      undo: 'Open the product again',
      about: `${announced} (Announcements about one product are read once a minute.)`,
      begin: ({ product_id }) => {
        world.disable(product_id, { reason: 'temporary_closure', expected_reopening: 'within_7_days' });
        return () => world.enable(product_id);
      },
    },
    'sell-out': {
      label: 'Sell out this date',
      undo: 'Put the date on sale again',
      about: asked,
      begin: ({ product_id, date }) => {
        const { sold_out } = productOf(sandbox, product_id);
        sold_out.add(date);
        return () => void sold_out.delete(date);
      },
      ask: check,
    },
    price: {
      label: 'Raise the price by a fifth',
      undo: 'Lower the price again',
      about: asked,
      begin: ({ product_id }) => {
        const product = productOf(sandbox, product_id);
        const { price } = product;
        product.price = Math.round(price * 1.2);
        return () => {
          product.price = price;
        };
      },
      ask: check,
    },
    image: {
      label: 'Withdraw the licence of its first image',
      undo: 'License the image again',
      about: 'The service announces no such change: the next read of the list finds it. The demo has it read now.',
      begin: ({ product_id }) => {
        const product = productOf(sandbox, product_id);
        const { images } = product;
        product.images = images.slice(1);
        return () => {
          product.images = images;
        };
      },
      ask: () => resync({ resources: ['images'] }),
    },
    empty: {
      label: 'Answer everything empty',
      undo: 'Answer correctly again',
      about: 'The demo has the dates of all products read again. The shop keeps them, and marks them as to be checked.',
      begin: () =>
        injected('empty', [
          { kind: 'no-dates' },
          { kind: 'no-texts' },
          { kind: 'no-variants' },
          { kind: 'empty-list', path: '^/v2/(products|experiences)\\?' },
        ]),
      ask: ({ date }) => resync({ resources: ['availability'], from: date, to: date }),
    },
    key: {
      label: 'Refuse the key',
      undo: 'Accept the key again',
      about: 'The next reads find it. The shop goes on, and its checks answer “unknown”.',
      begin: () => injected('key', [{ kind: 'status', status: 401 }]),
      ask: ({ product_id }) =>
        resync({ resources: ['products', 'availability', 'variants'], product_ids: [product_id] }),
    },
    away: {
      label: 'Take the service away',
      undo: 'Bring the service back',
      about: 'The next call finds it. The shop goes on, and its checks answer “unknown”.',
      begin: async () => {
        await sandbox.setReachable('no');
        return () => sandbox.setReachable('yes');
      },
      ask: check,
    },
  };
}

function productOf(sandbox: Sandbox, product_id: number): SandboxProduct {
  const product = sandbox.products().find(({ id }) => id === product_id);
  if (product === undefined) throw new Error(`the sandbox has no product ${product_id}`);
  return product;
}
