import { createSecret } from '../../src/config/secrets.ts';
import type { Network } from '../../src/daemon/machine.ts';
import type { Receiving } from '../../src/daemon/receiving.ts';
import type { SubscriptionWork } from '../../src/push/subscriptions.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { ConditionCode } from '../../src/says/conditions/table.rules.ts';
import { canary } from './canary.ts';
import { freePort } from './free-port.ts';
import { noticedIn } from './noticed.ts';
import { type FilledOptions, filledHarness, type VirtualHarness } from './virtual-harness.ts';

/** The sandbox, the engine, the receiver and the work about subscriptions: a daemon's life on one virtual clock. */
export interface NotifiedHarness extends AsyncDisposable {
  readonly harness: VirtualHarness;
  readonly receiving: Receiving;
  readonly work: SubscriptionWork;
  /** The public address of the receiver. */
  readonly public_url: string;
  /** Products that are on sale, in ascending order. */
  ids(): number[];
  /** Ticks once a minute, or less often. */
  live(ms: number, step?: number): Promise<void>;
  /** The daemon is away for so long; the service goes on. */
  away(ms: number, back?: { secret: string }): Promise<void>;
  query<Row>(sql: string): Row[];
  product(product_id: number): Record<string, unknown> | undefined;
  /** The conditions that the mirror shows. */
  noticed(): ConditionCode[];
}

const minute = 60_000;

type NotifiedOptions = Omit<FilledOptions, 'secrets'>;

export async function notifiedHarness(
  options: Partial<SandboxOptions> = {},
  { cadence = {}, ...config }: Record<string, unknown> = {},
  { busy = () => false, fill = 'copied', later: more = {}, machine = (own) => own, ...rest }: NotifiedOptions = {},
): Promise<NotifiedHarness> {
  const port = await freePort();
  const public_url = `http://127.0.0.1:${port}/hooks`;
  const stack = new AsyncDisposableStack();
  let asking = 0;
  let secret = createSecret(canary.master);
  const sandbox = { lean: true, products: 30, hold_ms: 5 * minute, ...options };
  const read = {
    scheduling: 'fixed',
    // Dates are not what is asked here: they are read seldom.
    cadence: { availability: { near: { every: '24h' }, middle: { every: '24h' } }, ...(cadence as object) },
  };
  const later = {
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url },
    subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
  };
  // The real one has a deadline on the clock, which stands still for whoever the harness knows to be busy.
  const selfTest: Network['selfTest'] = async () => {
    asking += 1;
    const { status } = await fetch(`${public_url}/${'x'.repeat(43)}`, { method: 'POST' }).finally(() => {
      asking -= 1;
    });
    return { result: status === 404 ? 'passed' : 'failed', message: String(status), answered: false };
  };
  const own: FilledOptions = {
    secrets: {
      get receiver_secret() {
        return secret;
      },
    },
    ...rest,
    busy: () => asking > 0 || busy(),
    machine: (own) => machine({ ...own, network: { ...own.network, selfTest } }),
  };
  const harness = stack.use(
    await filledHarness(sandbox, { ...read, ...config }, { ...own, fill, later: { ...later, ...config, ...more } }),
  );

  function receiving(): Receiving {
    const { receiving: found } = harness.daemon;
    if (found === null) throw new Error('no receiver');
    return found;
  }

  function work(): SubscriptionWork {
    const { subscriptions } = harness.daemon;
    if ('why' in subscriptions) throw subscriptions.why;
    return subscriptions.work;
  }

  const query = <Row>(sql: string): Row[] => harness.rows(sql);
  const live = (ms: number, step = minute) => harness.live(ms, step);
  await live(2 * minute);
  return {
    harness,
    get receiving() {
      return receiving();
    },
    get work() {
      return work();
    },
    public_url,
    ids: () => harness.sandbox.world.visible().flatMap(({ id, status }) => (status === 'available' ? [id] : [])),
    live,
    away: async (ms, back) => {
      if (back !== undefined) secret = createSecret(back.secret);
      await harness.restart({
        meanwhile: () => harness.drive(harness.clock.sleep(ms)),
      });
    },
    query,
    product: (product_id) =>
      query<Record<string, unknown>>(
        `SELECT sale_status, sellable, disabled_reason, disabled_source, expected_reopening, alternative_product_id
         FROM products WHERE product_id = ${product_id}`,
      )[0],
    noticed: () => noticedIn(harness.daemon.config.mirror.path, harness.clock.now()),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
