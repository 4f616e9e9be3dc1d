import { subscriptionsJob } from '../../src/daemon/jobs.ts';
import { readSigningKey } from '../../src/push/signing-key.rules.ts';
import type { SubscriptionContext } from '../../src/push/subscription.ask.ts';
import type { DeclaredSubscription } from '../../src/push/subscription.rules.ts';
import { changeTypes } from '../../src/push/subscription.rules.ts';
import { Subscriptions } from '../../src/push/subscription-calls.ask.ts';
import { SubscriptionWork } from '../../src/push/subscriptions.ts';
import type { ConditionCode } from '../../src/says/conditions/table.rules.ts';
import { readStatus } from '../../src/says/status/status.store.ts';
import { serviceClock } from '../../src/service/service-clock.ts';
import { heldAddresses } from '../receiver/held-addresses.ts';
import { manualClock } from '../service/manual-clock.ts';
import { noticedIn } from './noticed.ts';
import { otherWriter } from './other-writer.ts';
import { seededEntropy } from './seeded-entropy.ts';
import { rsaPem } from './signing-keys.ts';
import { askerOver, defaultProfile } from './standard-answers.ts';
import { type SubscriptionService, subscriptionService } from './subscription-service.ts';
import { testHttp } from './test-http.ts';
import { testLog } from './test-log.ts';
import { type TestMirror, testMirror } from './test-mirror.ts';
import { testSchedule } from './test-schedule.ts';
import { testSync } from './test-sync.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A mirror, the stand-in of the service, and the work between them, on a clock that a test moves. */
export interface SubscriptionHarness extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly service: SubscriptionService;
  /** The callback addresses of `all`. */
  readonly held: Omit<ReturnType<typeof heldAddresses>, 'addresses'>;
  readonly test: TestMirror;
  readonly context: SubscriptionContext;
  readonly work: SubscriptionWork;
  readonly log: ReturnType<typeof testLog>;
  /** What the self-test of the public address comes to. */
  selfTest: 'passed' | 'failed';
  /** The process ends and starts again: what it knows, it knows from its files. */
  restart(context?: SubscriptionContext): SubscriptionWork;
  /** Runs the daemon's job about subscriptions once a minute, or less often, for so long. */
  live(ms: number, step?: number): Promise<void>;
  /** Writes the mirror's tables as a reading of the lists would. */
  sql(text: string, ...values: unknown[]): void;
  addProducts(from: number, to: number): void;
  /** Returns the state of a declared subscription. */
  row(id?: string): ReturnType<SubscriptionContext['sync']['mirror']['push']['subscriptions']['find']>;
  /** Returns the paths that the service is known not to have. */
  missing(): string[];
  /** The conditions that the mirror shows. */
  noticed(): ConditionCode[];
}

const never = new AbortController().signal;
export const public_url = 'https://partner.example/hooks';
const minute = 60_000;

export const declaredAll: DeclaredSubscription = {
  id: 'all',
  type: 'product_ids',
  entities: 'mirrored',
  change_types: [...changeTypes],
};

export async function subscriptionHarness(
  declared: readonly DeclaredSubscription[] = [declaredAll],
  { most = 1000, reactivate = true, products = 3 } = {},
): Promise<SubscriptionHarness> {
  const stack = new AsyncDisposableStack();
  const clock = manualClock();
  const service = stack.use(await subscriptionService(clock.now));
  const test = stack.use(testMirror());
  const db = stack.adopt(otherWriter(test.path), (file) => {
    file.close();
  });
  const held = stack.use(heldAddresses(test.path, clock.now()));
  const log = testLog();
  const key = readSigningKey(rsaPem('pkcs8'));
  if ('problem' in key) throw new Error(key.problem);
  const service_clock = serviceClock();
  const http = stack.use(testHttp(service.url, clock, { heard: service_clock.heard }));
  const path = '/v2/product-change-notification/{subscription_id}';
  const paths = { ...defaultProfile.paths, subscription: path, reactivate: reactivate ? `${path}/reactivate` : null };
  const context: SubscriptionContext = {
    sync: testSync({ mirror: test.mirror, clock, chance: () => 0.5, log: log.log }),
    service: new Subscriptions({
      tell: null,
      asker: askerOver(http, { profile: { paths } }),
      limiter: { run: (call, signal) => call(signal) },
      profile: {
        paths,
        timeout: 60_000,
      },
      signing: { body: 'jwt', key, claims: false },
      service_clock,
      clock,
      entropy: seededEntropy(1),
    }),
    addresses: held.addresses,
    watch: { mayPrune: () => true },
    settings: {
      declared,
      public_url,
      most,
      reads: true,
      rotate_every: 30 * 24 * 60 * minute,
      grace: 7 * 24 * 60 * minute,
    },
    selfTest: async () => ({ result: harness.selfTest, message: 'no answer in time', answered: false }),
  };
  const failures: unknown[] = [];
  function start(over: SubscriptionContext) {
    const started = new SubscriptionWork(over);
    const job = subscriptionsJob(started, over.sync);
    const failed = (error: unknown) => failures.push(error);
    return { work: started, schedule: testSchedule([job], { clock, signal: never, failed }) };
  }
  let life = start(context);
  const harness: SubscriptionHarness = {
    clock,
    service,
    held,
    test,
    context,
    get work() {
      return life.work;
    },
    log,
    selfTest: 'passed',
    restart: (over = context) => {
      life = start(over);
      return life.work;
    },
    live: async (ms, step = minute) => {
      for (let left = ms; left > 0; left -= step) {
        await clock.advance(Math.min(step, left));
        await life.schedule.runDue();
        if (failures.length > 0) throw failures.shift();
      }
    },
    sql: (text, ...values) => {
      db.prepare(text).run(...values);
    },
    addProducts: (from, to) => {
      for (let id = from; id <= to; id += 1) {
        harness.sql('INSERT INTO _product_read (product_id, read_at) VALUES (?, 0)', id);
        harness.sql(
          `INSERT INTO _product (product_id, sale_status, city_id, country_id, venue_id, category, first_seen_at)
           VALUES (?, 'enabled', ?, ?, ?, ?, 0)`,
          id,
          10 + (id % 2),
          20 + (id % 3),
          30 + (id % 2),
          id % 2 === 0 ? 'even' : null,
        );
      }
    },
    row: (id = 'all') => test.mirror.push.subscriptions.find(id),
    missing: () => readStatus(test.reader, clock.now()).not_offered.map(({ path: missing }) => missing),
    noticed: () => noticedIn(test.path, clock.now()),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  if (products > 0) {
    harness.addProducts(1, products);
    for (const resource of ['products', 'experiences'])
      harness.sql(
        `INSERT INTO _walk (resource, edition, started_at, next_page, attempt, repeated, completed_at) VALUES (?, 'en/EUR', 0, 0, 1, 0, 1)`,
        resource,
      );
  }
  return harness;
}
