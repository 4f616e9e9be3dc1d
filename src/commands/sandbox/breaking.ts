import type { Clock } from '../../clock.ts';
import type { FaultRule } from '../../sandbox/rough/faults.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxProduct } from '../../sandbox/world/catalogue.ts';
import type { Day, Reader } from '../../storefront/reader.ts';

/*
 * Breaks the simulated service on demand, and measures how long it takes until the shop, the operator's page and the log
 * show it.
 */

/** The product and the date that a button changes. */
export interface Target {
  readonly product_id: number;
  readonly date: string;
}

/** The three places that are watched. */
export const places = ['shop', 'page', 'log'] as const;
export type ShownAt = (typeof places)[number];

/** A button: `seconds` by place, null where the last press has not been seen yet. */
export interface Button {
  readonly name: DeedName;
  readonly label: string;
  /** Text beside the button: the way in which the daemon learns of the change. */
  readonly about: string;
  readonly state: 'whole' | 'broken';
  /** The target of the last press, on which its undo acts. */
  readonly target: Target | null;
  /** Null: it was not pressed yet. */
  readonly seconds: Readonly<Record<ShownAt, number | null>> | null;
  readonly pending: boolean;
}

export interface BreakingPorts {
  readonly sandbox: Sandbox;
  readonly reader: Reader;
  readonly clock: Clock;
  readonly log: DaemonLog;
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
  /** Returns the text that the shop shows. The press is seen once it differs from the text before. */
  shop(target: Target): string | Promise<string>;
  /** Finds the parts of the page that change. */
  page(target: Target): RegExp;
  /** The line of the log that reports it. */
  log: RegExp;
}

type Undo = () => void | Promise<void>;

export type DeedName = 'close' | 'sell-out' | 'price' | 'image' | 'empty' | 'key' | 'away';

interface Press {
  readonly target: Target;
  readonly undo: Undo | null;
  readonly seconds: Record<ShownAt, number | null>;
  readonly watching: AbortController;
}

const lookEveryMs = 100;
/** A press that nothing shows by then is no longer watched. */
const watchedMs = 150_000;

/** Lines that the daemon has logged, with the time of each. */
export class DaemonLog {
  readonly #clock: Clock;
  /** The newest lines; older ones are dropped. */
  #lines: { readonly at: number; readonly line: string }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(line: string): void {
    this.#lines = [...this.#lines.slice(-199), { at: this.#clock.monotonic(), line: line.trim() }];
  }

  newest(count: number): readonly string[] {
    return this.#lines.slice(-count).map(({ line }) => line);
  }

  /** Returns when the first matching line was written since an instant of the monotonic clock; null: none was. */
  first(pattern: RegExp, since: number): number | null {
    return this.#lines.find(({ at, line }) => at >= since && pattern.test(line))?.at ?? null;
  }
}

/** The buttons. Disposing stops the measuring. */
export class Breaking implements AsyncDisposable {
  readonly #ports: BreakingPorts;
  readonly #deeds: Readonly<Record<DeedName, Deed>>;
  /** The last press of each button. */
  readonly #presses = new Map<DeedName, Press>();
  /** Measurements under way, which use the reader and the page. */
  readonly #watches = new Set<Promise<void>>();
  /** The press under way: the next one waits for it. */
  #pressing: Promise<void> = Promise.resolve();

  constructor(ports: BreakingPorts) {
    this.#ports = ports;
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
        seconds: press?.seconds ?? null,
        pending:
          press !== null && !press.watching.signal.aborted && places.some((place) => press.seconds[place] === null),
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
    return isDate && this.#ports.sandbox.products().some(({ id }) => id === product_id);
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
    before?.watching.abort();
    const target = before?.undo == null ? wanted : before.target;
    const looks = { shop: await deed.shop(target), page: await this.#pageShows(deed, target) };
    const began = this.#ports.clock.monotonic();
    let undo: Undo | null = null;
    if (before?.undo == null) undo = await deed.begin(target);
    else await before.undo();
    const press = { target, undo, seconds: { shop: null, page: null, log: null }, watching: new AbortController() };
    // The last press stands last.
    this.#presses.delete(name);
    this.#presses.set(name, press);
    // A page that does not answer ends the measurement.
    const watch = this.#watch(deed, press, { began, ...looks }).catch(() => press.watching.abort());
    this.#watches.add(watch);
    void watch.finally(() => this.#watches.delete(watch));
    // Not awaited: it takes as long as the service lets it.
    void deed.ask?.(target).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { watching } of this.#presses.values()) watching.abort();
    await Promise.all(this.#watches);
  }

  async #pageShows(deed: Deed, target: Target): Promise<string> {
    const found = (await (await fetch(this.#ports.page)).text()).matchAll(deed.page(target));
    return [...found].map((match) => match.slice(1).join(' ')).join('\n');
  }

  async #watch(deed: Deed, press: Press, before: { began: number; shop: string; page: string }): Promise<void> {
    const { clock, log } = this.#ports;
    const { target, seconds, watching } = press;
    const { began } = before;
    const since = (at: number) => Math.round((at - began) / 100) / 10;
    while (!watching.signal.aborted) {
      if (seconds.shop === null && (await deed.shop(target)) !== before.shop) seconds.shop = since(clock.monotonic());
      if (seconds.page === null && (await this.#pageShows(deed, target)) !== before.page)
        seconds.page = since(clock.monotonic());
      const logged = log.first(deed.log, began);
      if (seconds.log === null && logged !== null) seconds.log = since(logged);
      if (places.every((place) => seconds[place] !== null) || clock.monotonic() - began > watchedMs) watching.abort();
      else await clock.sleep(lookEveryMs, watching.signal).catch(() => undefined);
    }
  }
}

const checkEveryMs = 500;

/** Checks as a shopper would, at most twice a second: between them it returns the last verdict. */
class ShopperChecks {
  readonly #reader: Reader;
  readonly #clock: Clock;
  #last = { at: Number.NEGATIVE_INFINITY, verdict: '' };

  constructor({ reader, clock }: { readonly reader: Reader; readonly clock: Clock }) {
    this.#reader = reader;
    this.#clock = clock;
  }

  async verdict({ product_id, date }: Target): Promise<string> {
    if (this.#clock.monotonic() - this.#last.at < checkEveryMs) return this.#last.verdict;
    const { verdict } = await this.#reader.check({ product_id, date });
    this.#last = { at: this.#clock.monotonic(), verdict };
    return verdict;
  }
}

/** The buttons' effects. A text beside each says what the real service would do. */
function deeds({ sandbox, reader, clock, page }: BreakingPorts): Readonly<Record<DeedName, Deed>> {
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
  const checks = new ShopperChecks({ reader, clock });
  const verdict = (target: Target) => checks.verdict(target);
  const day = ({ product_id, date }: Target): Day | undefined =>
    reader.calendar(product_id, { from: date, to: date })[0];
  const changes = ({ product_id }: Target) => new RegExp(`id=${product_id}">[^<]*</a>(.*?)</span>`, 'gs');
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
      shop: ({ product_id }) => String(reader.product(product_id)?.sellable),
      page: changes,
      log: /deliveries applied/,
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
      shop: (target) => String(day(target)?.state),
      page: changes,
      log: /live check/,
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
      shop: (target) => String(day(target)?.lowest_adult_price),
      page: changes,
      log: /live check/,
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
      shop: ({ product_id }) => String(reader.images(product_id).length),
      page: changes,
      log: /pass ended/,
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
      shop: (target) => String(day(target)?.freshness),
      page: () => /(Held: (?:near|far)-dates)/g,
      log: /held|mass of claims/,
    },
    key: {
      label: 'Refuse the key',
      undo: 'Accept the key again',
      about: 'The next reads find it. The shop goes on, and its checks answer “unknown”.',
      begin: () => injected('key', [{ kind: 'status', status: 401 }]),
      ask: ({ product_id }) =>
        resync({ resources: ['products', 'availability', 'variants'], product_ids: [product_id] }),
      shop: verdict,
      page: () => /Key: the service (refuses it)/g,
      log: /refuses the key|"condition":"key-refused"/,
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
      shop: verdict,
      page: () => /(cannot be reached|been unreachable)/g,
      log: /"condition":"service-unreachable"/,
    },
  };
}

function productOf(sandbox: Sandbox, product_id: number): SandboxProduct {
  const product = sandbox.products().find(({ id }) => id === product_id);
  if (product === undefined) throw new Error(`the sandbox has no product ${product_id}`);
  return product;
}
