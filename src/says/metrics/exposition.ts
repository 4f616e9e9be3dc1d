import { Counter, Gauge, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
}

/**
 * Returns metrics in the text format of Prometheus. All values come from one finished status, so the registry lives
 * only as long as the answer. A family without samples keeps its HELP and TYPE, which show that nothing was measured.
 */
export async function exposition(families: readonly (Family & { readonly samples: readonly Sample[] })[]) {
  const registry = new Registry();
  for (const { name, type, help, samples } of families) {
    const options = { name, help, labelNames: Object.keys(samples[0]?.labels ?? {}), registers: [registry] };
    const metric = type === 'counter' ? new Counter(options) : new Gauge(options);
    // A metric without labels would otherwise show 0 before anything was measured.
    if (options.labelNames.length === 0) metric.remove();
    for (const { labels, value } of samples) metric.inc(labels, value);
  }
  return { type: registry.contentType, text: await registry.metrics() };
}
