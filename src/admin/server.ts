import type { FastifyInstance } from 'fastify';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { listenAddress } from '../kernel/http/listen-address.ts';
import { exposition } from '../says/metrics/exposition.ts';
import { metricFamilies } from '../says/metrics/metric-families.ts';
import type { ProcessFigures } from '../says/metrics/process-figures.ts';
import type { DaemonStatus } from '../says/status/daemon-status.ts';
import { type OperationName, operations } from './api.ts';
import { type ApiOptions, apiRoutes, refusals } from './api-routes.ts';
import { guardAdmin } from './guard.ts';
import { type Listening, type ListeningPorts, listenAt } from './listening.ts';
import { openApi } from './openapi.ts';
import { type PageOptions, pageRoute } from './page/page.ts';
import { type ProductPageOptions, productRoute } from './page/product.ts';
import { type ResyncPageOptions, resyncRoutes } from './page/resync.ts';

export interface AdminOptions extends MetricsOptions, PageOptions, ProductPageOptions, ResyncPageOptions, ApiOptions {
  readonly listen: string;
  /**
   * The token for every call outside a unix socket, except `/healthz` and `/readyz`. `not needed`: only the demo has
   * this, on an address that only this machine reaches.
   */
  readonly token: { reveal(): string } | 'not needed' | null;
  readonly hosts: readonly string[];
  readonly kept?: ListeningPorts['kept'];
  ready(): boolean;
}

/** Starts the operator's interface of a daemon, which answers all operations. */
export async function startAdmin(options: AdminOptions): Promise<Listening> {
  const { listen, token, hosts } = options;
  const address = listenAddress(listen);
  const local = 'socket' in address;
  if (!local && (token === null || (token === 'not needed' && !/^(127\.|::1$)/.test(address.host)))) {
    throw new CataloguedError('admin-token', `admin.listen is ${listen}, and there is no admin token`, {
      exitCode: exitCodes.configuration,
      hint: 'set admin.token_file, or listen on a unix socket: admin: { listen: "unix:./data/state/admin.sock" }',
    });
  }
  return await listenAt(
    { name: 'admin', listen, mode: 0o600 },
    { clock: options.changes.clock, kept: options.kept, room: options.room },
    (app, admit) => {
      if (!local) guardAdmin(app, { token: token === 'not needed' ? null : token, host: address.host, hosts }, admit);
      routes(app, options);
    },
  );
}

function routes(app: FastifyInstance, { log, ...options }: AdminOptions): void {
  app.get('/healthz', async () => ({ alive: true }));
  app.get('/readyz', async (_, reply) => reply.code(options.ready() ? 200 : 503).send({ ready: options.ready() }));
  app.get('/openapi.json', async () => openApi(operations, 'admin'));
  metricsRoute(app, options);
  pageRoute(app, options);
  productRoute(app, options);
  resyncRoutes(app, options);
  apiRoutes(app, Object.keys(operations) as OperationName[], { ...options, log });
  refusals(app, log);
}

interface MetricsOptions {
  shownStatus(): Promise<DaemonStatus>;
  processFigures(): ProcessFigures;
  now(): number;
}

/** Adds `GET /metrics`: the facts of `/v1/status` for Prometheus. */
function metricsRoute(app: FastifyInstance, { shownStatus, processFigures, now }: MetricsOptions): void {
  app.get('/metrics', async (_, reply) => {
    const facts = { status: await shownStatus(), process: processFigures(), now: now() };
    const families = metricFamilies.map(({ of, ...family }) => ({ ...family, samples: of(facts) }));
    const { type, text } = await exposition(families);
    return reply.type(type).send(text);
  });
}
