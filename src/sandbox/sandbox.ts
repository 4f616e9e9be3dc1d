import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../kernel/clock.ts';
import { type CallLog, callLog } from './call-log.ts';
import { listen, readBody } from './listen.ts';
import { type Owned, ownAnswer } from './own-endpoints.ts';
import type { SendOutcome } from './push/delivery.ts';
import { readPublicKey } from './push/jwt.ts';
import {
  type LegacyChangeType,
  type Notifier,
  type NotifierOptions,
  notifier,
  type SubscriptionSnapshot,
  snapshots,
  type Troubles,
} from './push/notifier.ts';
import {
  type Decision,
  type EndpointOptions,
  isSubscriptionPath,
  subscriptionEndpoints,
} from './push/subscription-endpoints.ts';
import {
  subscriptions as keepSubscriptions,
  type LifeOptions,
  type SandboxSubscriptions,
} from './push/subscriptions.ts';
import { roll, sequence } from './random.ts';
import { createRecording, type RecordedAnswer } from './reads/recording.ts';
import { error, type RouteOptions, route } from './reads/routes.ts';
import { type ProductState, productState, type StateQuestion } from './reads/state.ts';
import { errorOf, type FaultRule, type FaultScript, spoil, takesEffect } from './rough/faults.ts';
import type { Quirks } from './rough/quirks.ts';
import { isOffered } from './rough/reads.ts';
import { type Roughness, roughness } from './rough/roughness.ts';
import { type Throttle, type ThrottleOptions, throttle } from './throttle.ts';
import {
  type CatalogueEntry,
  catalogueFrom,
  generateCatalogue,
  leaner,
  type SandboxProduct,
} from './world/catalogue.ts';
import { type ChangeRates, calendarChanges } from './world/changes.ts';
import type { Announce } from './world/mutations.ts';
import { createWorld, type World } from './world/world.ts';

export interface SandboxOptions extends SceneOptions, LifeOptions, EndpointOptions, NotifierOptions {
  readonly host?: string;
  readonly port?: number;
  /** The accepted key. Null: any key, or none, is accepted. */
  readonly key?: string | null;
  readonly throttle?: ThrottleOptions | null;
  /** The public key of signed subscription requests: PEM or the ssh-rsa line. Null (default): plain JSON is accepted. */
  readonly signing_public_key?: string | null;
  /** The probability that the order of the list shifts before a page beyond the first. */
  readonly drift?: number;
  readonly faults?: readonly FaultRule[];
  /** Returns the members beside the payload of every answer; default: the version of the interface. */
  readonly beside?: () => Readonly<Record<string, unknown>>;
  readonly detail?: boolean;
  readonly gone?: 404 | 410;
  readonly disabled?: 'flag' | 'refuse';
  /** `every request`: repeated requests are detected. `none` saves memory in runs over months. */
  readonly counts?: 'every request' | 'none';
  /** Called for every complete answer that is sent. */
  readonly served?: (answer: Served) => void;
}

/** A running simulation of the service, with the controls for tests and people. */
export interface Sandbox extends AsyncDisposable {
  readonly url: string;
  readonly world: World;
  readonly calls: CallLog;
  readonly faults: FaultScript;
  /** Returns the number of calls made although an earlier answer had asked to wait. */
  violations(): number;
  /**
   * Return the number of requests and deliveries under way, and how many of them only wait for the clock. Held
   * notifications, and those that wait for another attempt, are not under way: they continue when the clock is moved.
   */
  inFlight(): number;
  sleeping(): number;
  setThrottle(options: ThrottleOptions | null): void;
  setDrift(share: number): void;
  /**
   * Sets these quirks and leaves the others unchanged. Restarts the faults among the quirks, and leaves those of
   * `faults.add` alone.
   */
  setQuirks(quirks: Partial<Quirks>): void;
  quirks(): Quirks;
  /** `no`: closes the port, so that connections are refused. `yes`: opens it again with the same number. */
  setReachable(reachable: 'yes' | 'no'): Promise<void>;
  /** Returns the service's view of each subscription. */
  subscriptions(): SubscriptionSnapshot[];
  /** `none`: the subscription still reports active, but nothing is sent. `all`: it sends again. */
  setSending(subscription_id: string, sending: 'all' | 'none'): void;
  setTroubles(troubles: Partial<Troubles>): void;
  /** Sends at once in the older system's format, to `legacy_callback_url` or another address. */
  sendLegacy(
    product_id: number,
    change_types: readonly LegacyChangeType[],
    callback_url?: string,
  ): Promise<SendOutcome>;
  products(): readonly SandboxProduct[];
  state(product_id: number, question: StateQuestion): ProductState | null;
}

/** Starts the simulation. Rejects (74) if the port is taken. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock, seed, host = '127.0.0.1' } = options;
  const settings = settingsOf(options);
  const scene = sceneOf(options, (product, change) => notifications.changed(product, change));
  const { world, rough, products } = scene;
  const sold = options.sold === undefined ? null : new Set(options.sold);
  const sells = ({ id }: SandboxProduct) => sold?.has(id) ?? roll(seed, id, 'sold') < 0.2;
  const subscriptions = keepSubscriptions(clock, sells, options);
  const notifications = notifier({ clock, chance: sequence(seed + 1), subscriptions }, options);
  const chance = sequence(seed);
  const calls = callLog(options.counts ?? 'every request');
  const { faults } = rough;
  for (const rule of options.faults ?? []) faults.add(rule);
  const drift = (position: number) => {
    if (position > 0 && settings.drift > 0 && chance() < settings.drift) world.drift(position, chance());
  };
  const parts: Parts = { scene, subscriptions, notifications, calls, limit: () => settings.limit };
  const own = ownEnds(parts);
  const serving = createServing({
    clock,
    key: options.key ?? null,
    encoding: options.lean ? 'plain' : 'gzip',
    served: options.served ?? null,
    rough,
    calls,
    faults,
    owned: own,
    limit: parts.limit,
    decide: decider(options, parts, drift),
  });
  await using opened = new AsyncDisposableStack();
  const door = opened.use(await openDoor(serving.listener, options.port ?? 0, host));
  opened.use(notifications);
  const closing = opened.move();
  return {
    url: door.url,
    world: scene.outward,
    calls,
    faults,
    violations: own.violations,
    inFlight: () => serving.inFlight() + notifications.inFlight(),
    sleeping: serving.sleeping,
    setThrottle: (to) => {
      settings.limit = to === null ? null : throttle(to, clock);
    },
    setDrift: (to) => {
      settings.drift = to;
    },
    setQuirks: rough.set,
    quirks: rough.quirks,
    setReachable: door.setReachable,
    subscriptions: own.subscriptions,
    setSending: own.setSending,
    setTroubles: notifications.setTroubles,
    sendLegacy: (product_id, change_types, callback_url = options.legacy_callback_url ?? undefined) =>
      notifications.sendLegacy(...legacyOf(world, product_id, change_types, callback_url)),
    products: () => products.map(rough.past.watched),
    state: (product_id, question) => {
      const product = world.find(product_id);
      return product === null ? null : productState(world, product, question, rough);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const versioned = () => ({ api_version: { major: 2, minor: 7, patch: '0' } });

/** Returns the settings that can be changed while it runs. */
function settingsOf({ clock, drift = 0, throttle: wanted }: SandboxOptions) {
  const limit: Throttle | null = wanted ? throttle(wanted, clock) : null;
  return { drift, limit };
}

interface Parts {
  readonly scene: Scene;
  readonly subscriptions: SandboxSubscriptions;
  readonly notifications: Notifier;
  readonly calls: CallLog;
  readonly limit: () => Throttle | null;
}

/** Returns the data and functions behind the endpoints under /sandbox/. */
function ownEnds({ scene, subscriptions, notifications, calls, limit }: Parts): Owned & { violations(): number } {
  const { world, rough } = scene;
  const violations = () => (limit()?.violations() ?? 0) + (rough.limit()?.violations() ?? 0);
  return {
    world,
    rough,
    violations,
    subscriptions: () => snapshots(subscriptions, notifications),
    setSending: (subscription_id, sending) => {
      const subscription = subscriptions.find(subscription_id);
      if (subscription === null) throw new Error(`the sandbox has no subscription ${subscription_id}`);
      subscription.sending = sending;
    },
    calls: () => ({
      ...calls.counts(),
      repeated: Object.fromEntries([...calls.repeated()].slice(0, 100)),
      violations: violations(),
    }),
  };
}

/** Returns a function that decides the answer to a request, before faults and throttling. */
function decider(
  options: SandboxOptions,
  { scene, subscriptions, notifications }: Parts,
  drift: (position: number) => void,
): ServingOptions['decide'] {
  const { world, rough, recording } = scene;
  const key = options.signing_public_key == null ? null : readPublicKey(options.signing_public_key);
  const changes = () => notifications.lastChange();
  const managing = subscriptionEndpoints({ subscriptions, key, clock: options.clock, changes }, options);
  const { detail = true, gone = 404, disabled = 'flag', beside = versioned } = options;
  const routing: RouteOptions = { detail, gone, disabled, rough, recording, beside, onPage: drift };
  return async (request, method, url) => {
    if (!isOffered(method, url.pathname, rough.quirks()))
      return { answer: error(404, 'not_found', 'There is nothing here.'), take: null };
    if (isSubscriptionPath(url.pathname)) {
      const body = method === 'GET' ? '' : await readBody(request);
      return managing.decide(method, url.pathname, body);
    }
    const read = method === 'GET' ? route(world, url, routing) : error(405, 'method_not_allowed', 'Only GET here.');
    return { answer: read, take: null };
  };
}

function legacyOf(
  world: World,
  product_id: number,
  change_types: readonly LegacyChangeType[],
  callback_url: string | undefined,
): Parameters<Notifier['sendLegacy']> {
  const product = world.find(product_id);
  if (product === null) throw new Error(`the sandbox has no product ${product_id}`);
  if (callback_url === undefined) throw new Error('there is no address to send to');
  return [product, change_types, callback_url];
}

interface SceneOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** The number of generated products, if there is no catalogue. */
  readonly products: number;
  readonly catalogue?: readonly CatalogueEntry[];
  /**
   * Answers stored by `catalogued probe --record`: their products are the catalogue, and the answers are served again.
   */
  readonly recorded?: readonly RecordedAnswer[];
  /**
   * The origin in the addresses of images, like `http://127.0.0.1:9001`: the `url` of an image host. Default: a host
   * that does not exist.
   */
  readonly image_origin?: string | null;
  /** The fault profile. Missing quirks have their ideal value. */
  readonly quirks?: Partial<Quirks>;
  /** True: days fill up as they approach. False: a date stays the same, whenever it is read. */
  readonly live?: boolean;
  /** The rates at which near dates change, one per product (world/changes.ts). Absent: no changes. */
  readonly changes?: ChangeRates;
  /**
   * True: small bodies without compression: few dates with tickets, one slot, one variant, one image. For months of
   * simulated time.
   */
  readonly lean?: boolean;
}

/** The initial state: the world, and the fault profile of its service. */
interface Scene {
  readonly products: readonly SandboxProduct[];
  readonly recording: RouteOptions['recording'];
  readonly rough: Roughness;
  /** The world for code that changes it: earlier states of its products are kept for the caches. */
  readonly outward: World;
  /** The same world for code that only reads it. It includes functions that a test has replaced. */
  readonly world: World;
}

/** Builds the scene. `announce`: called for each change that a subscription may announce. */
function sceneOf(options: SceneOptions, announce: Announce): Scene {
  const { clock, seed, live = false, lean = false } = options;
  const recording = options.recorded === undefined ? null : createRecording(options.recorded, clock);
  const products = productsOf(options, recording?.entries ?? options.catalogue);
  const changes = options.changes === undefined ? null : calendarChanges(seed, clock, options.changes);
  const rough = roughness(options.quirks ?? {}, { seed, clock, products });
  const made = createWorld(products, clock, { seed, live, lean, changes, past: rough.past, announce });
  return { products, recording, rough, ...watchedBy(rough, made) };
}

function productsOf(
  { seed, products, lean, image_origin }: SceneOptions,
  entries: readonly CatalogueEntry[] | undefined,
): readonly SandboxProduct[] {
  const catalogue = entries === undefined ? generateCatalogue(seed, products) : catalogueFrom(seed, entries);
  const found = lean ? catalogue.map(leaner) : catalogue;
  if (image_origin != null) for (const product of found) product.image_origin = image_origin;
  return found;
}

function watchedBy({ past }: Roughness, made: World) {
  const watched = {
    find: (id: number) => {
      const product = made.find(id);
      return product === null ? null : past.watched(product);
    },
    visible: () => made.visible().map(past.watched),
  };
  const outward: World = { ...made, ...watched };
  const world = Object.create(outward, {
    find: { get: () => (outward.find === watched.find ? made.find : outward.find) },
    visible: { get: () => (outward.visible === watched.visible ? made.visible : outward.visible) },
  }) as World;
  return { outward, world };
}

/** The port on which the sandbox answers. */
interface SandboxDoor extends AsyncDisposable {
  readonly url: string;
  /** `no`: closes the port, so that connections are refused. `yes`: opens it again with the same number. */
  setReachable(reachable: 'yes' | 'no'): Promise<void>;
}

/** Opens a port; 0 takes a free one. Throws (74) if the port is taken. */
async function openDoor(listener: RequestListener, wanted: number, host: string): Promise<SandboxDoor> {
  const server = createServer(listener);
  server.keepAliveTimeout = 60_000;
  await listen(server, wanted, host);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    setReachable: async (reachable) => {
      if ((reachable === 'yes') === server.listening) return;
      if (reachable === 'yes') await listen(server, port, host);
      else await close(server);
    },
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await close(server);
    },
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

/** An answer that was sent complete and without faults. */
export interface Served {
  readonly at: number;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

interface ServingOptions {
  readonly clock: Clock;
  /** The accepted key; null: any key, or none, is accepted. */
  readonly key: string | null;
  readonly encoding: 'gzip' | 'plain';
  readonly served: ((answer: Served) => void) | null;
  readonly rough: Roughness;
  readonly calls: CallLog;
  readonly faults: FaultScript;
  readonly owned: Owned;
  /** Returns the throttle set by a test; null: none. */
  readonly limit: () => Throttle | null;
  /** Returns the answer to a request, before faults and throttling. */
  readonly decide: (request: IncomingMessage, method: string, url: URL) => Promise<Decision>;
}

/** Answers requests, with all faults that may affect an answer. */
interface Serving {
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** Return the number of requests under way, and how many of them only wait for the clock. */
  inFlight(): number;
  sleeping(): number;
}

/** One request, and the response for its answer. */
interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly method: string;
  /** Records the status of the call; 0: without a status. */
  note(status: number): void;
}

function createServing(options: ServingOptions): Serving {
  const { clock, rough, calls, owned } = options;
  let inFlight = 0;
  let sleeping = 0;

  async function waits(wait: Promise<void>): Promise<void> {
    sleeping += 1;
    try {
      await wait;
    } finally {
      sleeping -= 1;
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sandbox');
    response.sendDate = false;
    response.setHeader('date', new Date(clock.now() + rough.quirks().clock_skew_ms).toUTCString());
    if (url.pathname.startsWith('/sandbox/')) return answerOwn(owned, request, response, url);
    const { method = 'GET' } = request;
    const path = method === 'GET' ? url.pathname : `${method} ${url.pathname}`;
    const note = (status: number) => calls.note({ path, query: url.search, status });
    const visit = { request, response, url, method, note };
    if (isThrottled(options, visit)) return;
    const { slow_ms } = rough.quirks();
    if (slow_ms > 0) await waits(clock.sleep(slow_ms, whenGone(response)));
    if (isStranger(options, visit)) return;
    await answer(options, visit, waits);
  }

  return {
    listener: (request, response) => {
      inFlight += 1;
      response.once('close', () => {
        inFlight -= 1;
      });
      serve(request, response).catch(() => response.destroy());
    },
    inFlight: () => inFlight,
    sleeping: () => sleeping,
  };
}

async function answerOwn(owned: Owned, request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
  const body = request.method === 'POST' ? await readBody(request) : null;
  const { status, body: text } = ownAnswer(owned, url, body);
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(text);
}

/** Refuses a call above the limit. Returns true if it was refused. */
function isThrottled({ limit, rough }: ServingOptions, { response, url, note }: Visit): boolean {
  const about = /^\/v2\/products\/\d+/.exec(url.pathname)?.[0] ?? url.pathname;
  const refused = limit()?.admit(about) ?? rough.limit()?.admit(about) ?? null;
  if (refused === null) return false;
  note(refused.status);
  response.writeHead(refused.status, { 'content-type': 'application/json', ...refused.headers });
  response.end(errorOf(refused.status));
  return true;
}

/** Refuses a call with a wrong key. Returns true if it was refused. */
function isStranger({ key }: ServingOptions, { request, response, note }: Visit): boolean {
  if (key === null || request.headers.authorization === `Token ${key}`) return false;
  note(401);
  response.writeHead(401, { 'content-type': 'application/json' });
  response.end(errorOf(401));
  return true;
}

async function answer(
  { clock, encoding, served, faults, decide }: ServingOptions,
  { request, response, url, method, note }: Visit,
  waits: (wait: Promise<void>) => Promise<void>,
): Promise<void> {
  const { answer: decided, take } = await decide(request, method, url);
  const address = `${url.pathname}${url.search}`;
  const body = decided.status < 300 ? faults.lied(method, address, decided.body) : decided.body;
  const fault = decided.status < 300 ? faults.next(method, address) : null;
  if (fault === null || takesEffect(fault)) take?.();
  if (fault !== null) {
    note(fault.kind === 'status' ? (fault.status ?? 500) : 0);
    const gone = whenGone(response);
    await spoil(response, fault, { ...decided, body }, (ms) => waits(clock.sleep(ms, gone)));
    return;
  }
  note(decided.status);
  if (decided.status === 200 && body === decided.body && !isSubscriptionPath(url.pathname))
    served?.({ at: clock.now(), path: url.pathname, query: url.searchParams, body: decided.body });
  const zip = encoding === 'gzip' && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  respond(response, decided.status, body, zip ? 'gzip' : 'plain');
}

/** Returns a signal that aborts when the client goes. */
function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('the client has gone')));
  return gone.signal;
}

function respond(response: ServerResponse, status: number, text: string, encoding: 'gzip' | 'plain'): void {
  const zipped = encoding === 'gzip' && text.length > 1024;
  const body = zipped ? gzipSync(text, { level: 1 }) : Buffer.from(text);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(body.length),
    ...(zipped ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(body);
}
