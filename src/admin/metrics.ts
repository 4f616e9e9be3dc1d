import type { FastifyInstance } from 'fastify';
import type { DaemonStatus } from '../status/daemon-status.ts';
import { exposition } from './exposition.ts';
import { metricFamilies } from './metric-families.ts';
import type { ProcessFigures } from './process-figures.ts';

export interface MetricsOptions {
  shownStatus(): Promise<DaemonStatus>;
  processFigures(): ProcessFigures;
  now(): number;
}

/** Adds `GET /metrics`: the facts of `/v1/status` for Prometheus. */
export function metricsRoute(app: FastifyInstance, { shownStatus, processFigures, now }: MetricsOptions): void {
  app.get('/metrics', async (_, reply) => {
    const facts = { status: await shownStatus(), process: processFigures(), now: now() };
    const families = metricFamilies.map(({ of, ...family }) => ({ ...family, samples: of(facts) }));
    const { type, text } = await exposition(families);
    return reply.type(type).send(text);
  });
}
