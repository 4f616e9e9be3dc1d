import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { callLimits } from '../../src/service/call-limits.ts';
import { createUpstream, type ServiceReads } from '../../src/service/client.ts';
import type { Http, ServiceRequest } from '../../src/service/http.ts';
import type { Outcome } from '../../src/service/outcome.ts';
import { needs } from '../fakes/needs.ts';
import { askerOver } from '../fakes/standard-answers.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { changed, changes, holds } from './corpus.ts';

const signal = new AbortController().signal;
const of = { language: 'en', known_hash: null, signal };

/** Every read of the service, asked for one product. */
const endpoints = {
  products: (reads, _) => reads.productPage(1, 'en', 'EUR', signal),
  experiences: (reads, _) => reads.experiencePage(1, 'en', 'EUR', signal),
  tags: (reads, _) => reads.tagPage(1, 'en', 'EUR', signal),
  product: (reads, product_id) => reads.product({ ...of, product_id, currency: 'EUR' }),
  'checkout-information': (reads, product_id) => reads.checkoutInformation({ ...of, product_id }),
  variants: (reads, product_id) => reads.variants({ ...of, product_id }),
  availability: (reads, product_id) =>
    reads.availability({ ...of, product_id, currency: 'EUR', from: '2026-12-01', to: '2026-12-07' }),
} satisfies Record<string, (reads: ServiceReads, product_id: number) => Promise<{ kind: string }>>;

const stack = new AsyncDisposableStack();
/** What the sandbox answers, by endpoint. */
const answers: Record<string, unknown> = {};
let url = '';
/** The body that comes next; null: the sandbox's own. */
let body: string | null = null;
let reads: ServiceReads;
let product_id = 0;

async function ask({ path, query }: ServiceRequest): Promise<Outcome> {
  const asked = new URL(path, url);
  for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, String(value));
  body ??= await (await fetch(asked)).text();
  return { kind: 'answer', status: 200, text: body, hash: body.slice(0, 40), bytes: body.length, sent_at: instant(0) };
}

describe('the answer of an endpoint, with parts replaced, left out, doubled and emptied,', needs('time'), () => {
  beforeAll(async () => {
    const { path } = stack.use(temporaryDirectory());
    const sandbox = stack.use(await startSandbox({ products: 3 }));
    url = sandbox.url;
    const { profile } = testConfig(path, url).config.service;
    const limiter = { run: (ask: (turn: AbortSignal) => Promise<Outcome>) => ask(signal) };
    const asker = askerOver({ ask } as unknown as Http, { profile });
    const limits = callLimits(profile.timeout);
    const options = { asker, limiter, limits, ...profile, commission: true, mayPublish: () => true };
    reads = createUpstream(options as never).in('fill' as never);
    const list = await endpoints.products(reads, 0);
    product_id = list.kind === 'read' ? (list.value.entries[0]?.product_id ?? 0) : 0;
    for (const [name, ask] of Object.entries(endpoints)) {
      body = null;
      expect((await ask(reads, product_id)).kind, name).toBe('read');
      answers[name] = JSON.parse(body ?? '');
    }
  });
  afterAll(() => stack.disposeAsync());

  it.each(Object.keys(endpoints) as (keyof typeof endpoints)[])(
    '%s is read, or a failed read: nothing is thrown',
    async (name) => {
      let failed = 0;
      await holds(
        name,
        changes,
        async (each) => {
          body = JSON.stringify(changed(answers[name], each));
          const { kind } = await endpoints[name](reads, product_id);
          expect(['read', 'failed']).toContain(kind);
          if (kind === 'failed') failed += 1;
        },
        300,
      );
      // Some are too far from the shape: else nothing was asked.
      expect(failed).toBeGreaterThan(0);
      expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    },
  );
});
