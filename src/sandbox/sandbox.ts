import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Clock } from '../clock.ts';
import { type CallLog, callLog } from './call-log.ts';
import { type FaultRule, type FaultScript, faultScript, spoil, takesEffect } from './faults.ts';
import { listen } from './listen.ts';
import { ownAnswer } from './own-endpoints.ts';
import type { SendOutcome } from './push/delivery.ts';
import { readPublicKey } from './push/jwt.ts';
import type { LegacyChangeType } from './push/notification-body.ts';
import { type NotifierOptions, notifier, type Troubles } from './push/notifier.ts';
import {
  type Decision,
  type EndpointOptions,
  isSubscriptionPath,
  subscriptionEndpoints,
} from './push/subscription-endpoints.ts';
import { type SubscriptionSnapshot, snapshots } from './push/subscription-snapshot.ts';
import { subscriptions as keepSubscriptions, type LifeOptions } from './push/subscriptions.ts';
import { roll, sequence } from './random.ts';
import { readBody } from './read-body.ts';
import { createRecording, type RecordedAnswer } from './reads/recording.ts';
import { error, type RouteOptions, route } from './reads/routes.ts';
import { type ProductState, productState, type StateQuestion } from './reads/state.ts';
import type { Habits } from './rough/habits.ts';
import { isOffered } from './rough/reads.ts';
import { roughness } from './rough/roughness.ts';
import { type Throttle, type ThrottleOptions, throttle } from './throttle.ts';
import {
  type CatalogueEntry,
  catalogueFrom,
  generateCatalogue,
  leaner,
  type SandboxProduct,
} from './world/catalogue.ts';
import { type ChangeRates, calendarChanges } from './world/changes.ts';
import { createWorld, type World } from './world/world.ts';

export interface SandboxOptions extends LifeOptions, EndpointOptions, NotifierOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** How many products are generated, where there is no catalogue. */
  readonly products: number;
  readonly catalogue?: readonly CatalogueEntry[];
  /** What `catalogued probe --record` kept: its products are the catalogue, its answers are served again. */
  readonly recorded?: readonly RecordedAnswer[];
  /** Where images are said to be, like `http://127.0.0.1:9001`: the `url` of an image host. Else at a host that does not exist. */
  readonly image_origin?: string | null;
  readonly host?: string;
  readonly port?: number;
  /** Null: any key is accepted, or none. */
  readonly key?: string | null;
  readonly throttle?: ThrottleOptions | null;
  /** How rough it is: whatever is not given is kind. */
  readonly habits?: Partial<Habits>;
  /** What signs the management of subscriptions: PEM or the ssh-rsa line. Null, as it is by default: plain JSON is taken. */
  readonly signing_public_key?: string | null;
  /** How likely the order of the list shifts before a page beyond the first. */
  readonly drift?: number;
  readonly faults?: readonly FaultRule[];
  /** The share of answers that are hit by some fault. */
  readonly fault_share?: number;
  readonly detail?: boolean;
  readonly gone?: 404 | 410;
  readonly disabled?: 'flag' | 'refuse';
  /** Whether days fill as they near; else a date is what it is, whenever it is asked for. */
  readonly live?: boolean;
  /** How often near dates change: each product at a rate of its own (changes.ts); none where it is not given. */
  readonly changes?: ChangeRates;
  /** Small bodies, not compressed: few dates with tickets, one slot, one variant, one image. For months of simulated time. */
  readonly lean?: boolean;
  /** Whether repeated requests are told apart: months of them would be too many. */
  readonly counts?: 'every request' | 'none';
  /** Told of every whole answer that is sent. */
  readonly served?: (answer: Served) => void;
}

/** An answer that left the sandbox whole and true. */
export interface Served {
  readonly at: number;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
}

/** A running simulation of the service, and what a test or a person may do with it. */
export interface Sandbox extends AsyncDisposable {
  readonly url: string;
  readonly world: World;
  readonly calls: CallLog;
  readonly faults: FaultScript;
  /** Calls that came although an earlier answer had told to wait. */
  violations(): number;
  /**
   * Requests and deliveries under way, and how many of them only wait on the clock. What is held, and what waits for
   * another attempt, is not under way: it sleeps on the clock, and goes on when somebody moves it.
   */
  inFlight(): number;
  sleeping(): number;
  setThrottle(options: ThrottleOptions | null): void;
  setDrift(share: number): void;
  /** Takes on these habits; the others stay as they are. */
  setHabits(habits: Partial<Habits>): void;
  habits(): Habits;
  setFaultShare(share: number): void;
  /** Closes the door, so that connections are refused, or opens it again on the same port. */
  setReachable(reachable: 'yes' | 'no'): Promise<void>;
  /** Returns what it knows of each subscription. */
  subscriptions(): SubscriptionSnapshot[];
  /** A subscription that goes on saying active, and of which nothing arrives any more; or sends again. */
  setSending(subscription_id: string, sending: 'all' | 'none'): void;
  setTroubles(troubles: Partial<Troubles>): void;
  /** Sends in the words of the older system, at once, to `legacy_callback_url` or another address. */
  sendLegacy(
    product_id: number,
    change_types: readonly LegacyChangeType[],
    callback_url?: string,
  ): Promise<SendOutcome>;
  products(): readonly SandboxProduct[];
  state(product_id: number, question: StateQuestion): ProductState | null;
}

/** Starts the simulation. A port that is taken: 74. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock, seed, host = '127.0.0.1' } = options;
  const recording = options.recorded === undefined ? null : createRecording(options.recorded, clock);
  const entries = recording?.entries ?? options.catalogue;
  const catalogue = entries === undefined ? generateCatalogue(seed, options.products) : catalogueFrom(seed, entries);
  const products = options.lean ? catalogue.map(leaner) : catalogue;
  if (options.image_origin != null) for (const product of products) product.image_origin = options.image_origin;
  const changes = options.changes === undefined ? null : calendarChanges(seed, clock, options.changes);
  const rough = roughness(options.habits ?? {}, { seed, clock, products });
  const { past } = rough;
  const made = createWorld(products, clock, {
    seed,
    live: options.live ?? false,
    lean: options.lean ?? false,
    changes,
    past,
    announce: (product, change) => notifications.changed(product, change),
  });
  const watched: Pick<World, 'find' | 'visible'> = {
    find: (id) => {
      const product = made.find(id);
      return product === null ? null : past.watched(product);
    },
    visible: () => made.visible().map(past.watched),
  };
  /** The world of those who change it: what they set in a product is seen by the caches. */
  const outward: World = { ...made, ...watched };
  /** The same for those who only read, and what somebody puts in the place of a part of it. */
  const world = Object.create(outward, {
    find: { get: () => (outward.find === watched.find ? made.find : outward.find) },
    visible: { get: () => (outward.visible === watched.visible ? made.visible : outward.visible) },
  }) as World;
  const sold = options.sold === undefined ? null : new Set(options.sold);
  const sells = ({ id }: SandboxProduct) => sold?.has(id) ?? roll(seed, id, 'sold') < 0.2;
  const subscriptions = keepSubscriptions(clock, sells, options);
  const notifications = notifier({ clock, chance: sequence(seed + 1), subscriptions }, options);
  const key = options.signing_public_key == null ? null : readPublicKey(options.signing_public_key);
  const changeCount = () => notifications.lastChange();
  const managing = subscriptionEndpoints({ subscriptions, key, clock, changes: changeCount }, options);
  const chance = sequence(seed);
  const calls = callLog(options.counts ?? 'every request');
  let fault_share = options.fault_share ?? 0;
  const faults = faultScript(() => fault_share, chance);
  for (const rule of options.faults ?? []) faults.add(rule);
  let drift = options.drift ?? 0;
  let limit: Throttle | null = options.throttle ? throttle(options.throttle, clock) : null;
  let inFlight = 0;
  let sleeping = 0;

  const routing: RouteOptions = {
    detail: options.detail ?? true,
    gone: options.gone ?? 404,
    disabled: options.disabled ?? 'flag',
    rough,
    recording,
    onPage: (position) => {
      if (position > 0 && drift > 0 && chance() < drift) world.drift(position, chance());
    },
  };

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
    response.setHeader('date', new Date(clock.now() + rough.habits().clock_skew_ms).toUTCString());
    if (url.pathname.startsWith('/sandbox/')) {
      const body = request.method === 'POST' ? await readBody(request) : null;
      const { status, body: text } = ownAnswer(owned, url, body);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(text);
      return;
    }
    const { method = 'GET' } = request;
    const path = method === 'GET' ? url.pathname : `${method} ${url.pathname}`;
    const note = (status: number) => calls.note({ path, query: url.search, status });
    const refused = limit?.admit() ?? rough.limit()?.admit() ?? null;
    if (refused !== null) {
      note(refused.status);
      refuse(response, refused);
      return;
    }
    const stray = rough.stray();
    if (stray !== null) {
      note(stray === 'reset' ? 0 : stray);
      if (stray === 'reset') response.socket?.resetAndDestroy();
      else refuse(response, { status: stray, headers: {} });
      return;
    }
    const { slow_ms } = rough.habits();
    if (slow_ms > 0) await waits(clock.sleep(slow_ms, whenGone(response)));
    if (typeof options.key === 'string' && request.headers.authorization !== `Token ${options.key}`) {
      note(401);
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(
        '{"success":false,"api_version":{"major":2,"minor":7},"error":"unauthorized","message":"Key not accepted."}',
      );
      return;
    }
    const { answer, take } = await decide(request, method, url);
    const fault = answer.status < 300 ? faults.next(method, `${url.pathname}${url.search}`) : null;
    if (fault === null || takesEffect(fault)) take?.();
    if (fault !== null) {
      note(fault.kind === 'status' ? (fault.status ?? 500) : 0);
      await spoil(response, fault, answer, { clock, gone: whenGone(response), waits });
      return;
    }
    note(answer.status);
    if (answer.status === 200 && !isSubscriptionPath(url.pathname))
      options.served?.({ at: clock.now(), path: url.pathname, query: url.searchParams, body: answer.body });
    const zip = !options.lean && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    respond(response, answer.status, answer.body, zip ? 'gzip' : 'plain');
  }

  async function decide(request: IncomingMessage, method: string, url: URL): Promise<Decision> {
    if (!isOffered(method, url.pathname, rough.habits()))
      return { answer: error(404, 'not_found', 'There is nothing here.'), take: null };
    if (isSubscriptionPath(url.pathname)) {
      const body = method === 'GET' ? '' : await readBody(request);
      return managing.decide(method, url.pathname, body);
    }
    const read = method === 'GET' ? route(world, url, routing) : error(405, 'method_not_allowed', 'Only GET here.');
    return { answer: read, take: null };
  }

  const violations = () => (limit?.violations() ?? 0) + (rough.limit()?.violations() ?? 0);
  const owned = {
    world,
    rough,
    subscriptions: () => snapshots(subscriptions, notifications),
    setSending,
    calls: () => ({
      ...calls.counts(),
      repeated: Object.fromEntries([...calls.repeated()].slice(0, 100)),
      violations: violations(),
    }),
  };

  function setSending(subscription_id: string, sending: 'all' | 'none'): void {
    const subscription = subscriptions.find(subscription_id);
    if (subscription === null) throw new Error(`the sandbox has no subscription ${subscription_id}`);
    subscription.sending = sending;
  }

  const server = createServer((request, response) => {
    inFlight += 1;
    response.once('close', () => {
      inFlight -= 1;
    });
    serve(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  await listen(server, options.port ?? 0, host);
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://${host}:${port}`,
    world: outward,
    calls,
    faults,
    violations,
    inFlight: () => inFlight + notifications.inFlight(),
    sleeping: () => sleeping,
    setThrottle: (to) => {
      limit = to === null ? null : throttle(to, clock);
    },
    setDrift: (to) => {
      drift = to;
    },
    setHabits: rough.set,
    habits: rough.habits,
    setFaultShare: (to) => {
      fault_share = to;
    },
    setReachable: async (reachable) => {
      if ((reachable === 'yes') === server.listening) return;
      if (reachable === 'yes') return listen(server, port, host);
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    subscriptions: owned.subscriptions,
    setSending,
    setTroubles: notifications.setTroubles,
    sendLegacy: (product_id, change_types, callback_url = options.legacy_callback_url ?? undefined) => {
      const product = world.find(product_id);
      if (product === null || callback_url === undefined)
        throw new Error(
          product === null ? `the sandbox has no product ${product_id}` : 'there is no address to send to',
        );
      return notifications.sendLegacy(product, change_types, callback_url);
    },
    products: () => products.map(past.watched),
    state: (product_id, question) => {
      const product = world.find(product_id);
      return product === null ? null : productState(world, product, question, rough);
    },
    [Symbol.asyncDispose]: async () => {
      await notifications[Symbol.asyncDispose]();
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A signal that is aborted when the client goes. */
function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('the client has gone')));
  return gone.signal;
}

function refuse(
  response: ServerResponse,
  { status, headers }: { status: number; headers: Record<string, string> },
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  const [code, message] =
    status === 503 ? ['service_unavailable', 'Please try again.'] : ['rate_limit_exceeded', 'Too many requests.'];
  response.end(error(status, code, message).body);
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
