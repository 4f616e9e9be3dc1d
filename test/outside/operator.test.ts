import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ask, happens, receiving, Stage } from './stage.ts';

type Members = Readonly<Record<string, unknown>>;

interface Status {
  readonly products: { readonly visible: number; readonly sellable: number };
  readonly bookable: { readonly days: number };
  readonly images: number;
  readonly inbox: { readonly received: number };
  readonly freshness: readonly Members[];
  readonly jobs: readonly { readonly name: string; readonly next_at: number }[];
  readonly truth: Members;
}

interface Document {
  readonly openapi: string;
  readonly components: Members;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly responses?: Readonly<Record<string, { content?: Readonly<Record<string, { schema: Members }>> }>>;
}

interface Report {
  readonly products: Readonly<Record<string, readonly Members[]>>;
  readonly prices: Readonly<Record<string, Members>>;
  readonly images: Members;
  readonly checkout: { readonly orders: number; readonly tickets: number };
  readonly fruitless_searches: readonly Members[];
}

const stack = new AsyncDisposableStack();
const hostile = '"><script>alert(1)</script><img src=http://evil.example/>';
let stage: Stage;
let [closed, titled] = [0, 0];

const documents = ['monitoring', 'operating', 'orders', 'reading', 'search', 'troubleshooting'];
const said = (name: string) => readFileSync(join(import.meta.dirname, `../../docs/${name}.md`), 'utf8');
const reported = () => stage.json<Report>('report', '--week');

beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '6', '--hold', '1s'] }));
  stage.configure(await receiving(stage));
  await stage.filled();
  expect((await stage.run('subscription', 'apply')).code).toBe(0);
  [closed = 0, titled = 0] = await stage.service.get<number[]>('/sandbox/products');
});
afterAll(() => stack.disposeAsync());

describe('what an operator is told', () => {
  it('is the same in /metrics as in the status, in the strict format, and each metric is documented', async () => {
    const { status, text } = await atOneMoment();
    const { families, samples } = metrics(text);
    const rows = said('reference/metrics').matchAll(/^\| `((?:catalogued|process|nodejs)_\w+)` \|/gm);
    expect(families).toEqual(new Set([...rows].map(([, name = '']) => name)));
    const figures = {
      catalogued_products_visible: status.products.visible,
      catalogued_products_sellable: status.products.sellable,
      catalogued_bookable_days: status.bookable.days,
      catalogued_images_shown: status.images,
      catalogued_deliveries_received_total: status.inbox.received,
    };
    for (const { resource, tier, fresh, target_ms } of status.freshness) {
      const labels = `resource="${resource}",tier="${tier ?? ''}"`;
      Object.assign(figures, {
        [`catalogued_records{${labels},state="fresh"}`]: fresh,
        [`catalogued_freshness_target_seconds{${labels}}`]: Number(target_ms) / 1000,
      });
    }
    for (const { name, next_at } of status.jobs)
      Object.assign(figures, { [`catalogued_job_next_run_timestamp_seconds{job="${name}"}`]: next_at / 1000 });
    expect(Object.keys(figures).length).toBeGreaterThan(30);
    expect(samples).toMatchObject(figures);
    expect(figures.catalogued_products_visible).toBe(6);
    // Of too few random reads no share is told.
    expect(status.truth).toMatchObject({ audited: 0, share: null, margin: null });
    expect(Object.keys(samples).filter((name) => name.startsWith('catalogued_outdated_ratio'))).toEqual([]);
    // A line that is none, and a sample without its family (controls).
    expect(() => metrics(`${text}catalogued_true yes\n`)).toThrow('no line of the format');
    expect(() => metrics(`${text}other_metric 1\n`)).toThrow('not of its family');
  });

  it.each(['admin', 'storefront'] as const)(
    'is as /openapi.json of the %s interface says, at every route',
    async (name) => {
      const at = stage[name];
      const document = (await ask(at, '/openapi.json')).json<Document>();
      expect(document.openapi).toMatch(/^3\.1\./);
      const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
      );
      const named = new Set(routes.map(({ path, method }) => `${method} ${path.replaceAll(/\{\w+\}/g, '…')}`));
      const answered: string[] = [];
      // These would ask the service, or begin again.
      for (const { path, method, operation } of routes.filter(({ path }) => !/doctor|probe|reload/.test(path))) {
        const route = `${method} ${path}`;
        const answer = await ask(at, path.replace(/\{\w+\}/, `${titled}`), method === 'POST' ? { body: '[]' } : {});
        expect(answer.text, route).not.toContain('no-such-route');
        expect(answer.status, route).toBeLessThan(500);
        const schema = operation.responses?.['200']?.content?.['application/json']?.schema;
        if (answer.status !== 200 || schema === undefined) continue;
        expect(differs(answer.json(), schema, document), route).toBeNull();
        answered.push(route);
      }
      expect(answered.length).toBeGreaterThan(14);
      expect((await ask(at, '/v1/nothing')).text).toContain('no-such-route');
      if (name === 'storefront') return;
      // Each route that the documents name is there.
      const written = documents.flatMap((each) => [
        ...said(each).matchAll(/\b(GET|POST) (\/v1\/[\w/]+)(?![\w/{<…?]|\/[A-Z])/g),
      ]);
      expect(written.length).toBeGreaterThan(8);
      expect(written.map(([, method, path]) => `${method} ${path}`).filter((route) => !named.has(route))).toEqual([]);
      // One member more or less is seen (control).
      const schema = document.paths['/v1/plan']?.get?.responses?.['200']?.content?.['application/json']?.schema ?? {};
      const plan = await stage.json<Members>('plan');
      const { lines: _, ...less } = plan;
      expect([differs(plan, schema, document), differs({ ...plan, more: 1 }, schema, document), differs(less, schema, document)]).toEqual([null, expect.stringContaining('more'), expect.stringContaining('lines')]); // biome-ignore format: a table
    },
  );

  it('is on a page what is in the status; whatever strangers wrote is text on it, and it loads and runs nothing', async () => {
    await stage.service.post(`/sandbox/products/${titled}/edit`, { field: 'title', value: hostile });
    const titles = `SELECT title FROM products WHERE product_id = ${titled}`;
    await stage.rowsOnce<{ title: string }>(titles, ([product]) => product?.title === hostile);
    const { bookable, products } = await stage.json<Status>('status');
    const page = await ask(stage.admin, '/');
    expect(page.text).toContain(`>${products.sellable}<`);
    expect(page.text).toContain(`>${bookable.days}<`);
    const product = await ask(stage.admin, `/product?id=${titled}`);
    expect(product.text).toContain('&lt;script&gt;');
    for (const { status, headers, text } of [page, product]) {
      expect(status).toBe(200);
      expect(headers['content-security-policy']).toMatch(/^default-src 'none';/);
      expect(foreign(text)).toEqual([]);
    }
    expect(foreign(page.text.replace('<dd>', `<dd>${hostile}`))).toHaveLength(2);
  });

  it('is in the report of a week what happened in it, once, and no search that a person can be found in', async () => {
    const quiet = await reported();
    const nothing = { added: [], returned: [], withdrawn: [], closed: [], reopened: [] };
    expect(quiet).toMatchObject({ products: nothing, checkout: { orders: 0 }, fruitless_searches: [] });
    expect(quiet.prices).toMatchObject({ products: { moved: 0 }, dates: { moved: 0 } });

    await stage.service.post(`/sandbox/products/${closed}/edit`, { field: 'title', value: hostile });
    await stage.service.post(`/sandbox/products/${closed}/disable`, { reason: 'out_of_season' });
    const search = (text: string, times: number) =>
      Promise.all(Array.from({ length: times }, () => ask(stage.storefront, '/v1/search', { body: { text } })));
    await search('zzgorilla', 5);
    await search('zzzebra', 4);
    await search('zzanna anna@example.com', 9);
    await search('zzbert 004915112345678', 9);
    const date = (await stage.service.shown(titled)).days[9]?.date;
    const order = { product_id: titled, date, quantity: 3, outcome: 'confirmed' };
    expect((await ask(stage.storefront, '/v1/orders', { body: order })).status).toBe(200);
    // Announced, and then confirmed by a read.
    const confirmed = `SELECT title FROM products WHERE product_id = ${closed} AND disabled_source = 'read'`;
    await stage.rowsOnce<{ title: string }>(confirmed, ([product]) => product?.title === hostile);
    expect((await stage.run('jobs', 'run', 'search-counts')).code).toBe(0);
    const report = await reported();
    const only = { ...nothing, closed: [{ product_id: closed, title: hostile, reason: 'out_of_season' }] };
    expect(report).toMatchObject({ products: only, checkout: { orders: 1, tickets: 3 } });
    expect(report.fruitless_searches).toContainEqual({ words: 'zzgorilla', searches: 5 });
    expect(JSON.stringify(report)).not.toMatch(/zzzebra|example\.com|0049151/);
    const html = join(stage.directory, 'week.html');
    expect((await stage.run('report', '--week', '--html', html)).code).toBe(0);
    const written = readFileSync(html, 'utf8');
    expect(written).toContain('&lt;script&gt;');
    expect(foreign(written)).toEqual([]);
    const another = await stage.json<Report>('report', '--week', '2020-W20');
    expect(another).toMatchObject({ products: nothing, checkout: { orders: 0 }, fruitless_searches: [] });
  });
});

/** Status and metrics of one moment: they are asked for until nothing has changed between. */
async function atOneMoment(): Promise<{ status: Status; text: string }> {
  const status = async () => (await ask(stage.admin, '/v1/status')).text;
  const { after, text } = await happens(
    async () => ({ before: await status(), text: (await ask(stage.admin, '/metrics')).text, after: await status() }),
    // Leaves out the instant of the question.
    ({ before, after }) => before.replace(/"as_of":\d+/, '') === after.replace(/"as_of":\d+/, ''),
  );
  return { status: JSON.parse(after) as Status, text };
}

/** Parses the text format of Prometheus 0.0.4, strictly. Throws where a line does not fit. */
function metrics(text: string): { families: Set<string>; samples: Record<string, number> } {
  const families = new Set<string>();
  const samples: Record<string, number> = {};
  const label = String.raw`\w+="(?:[^"\\\n]|\\\\|\\"|\\n)*"`;
  const line = new RegExp(String.raw`^(\w+)((?:\{${label}(?:,${label})*\})?) (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$`);
  let family = '';
  for (const each of text.split('\n').filter((one) => one !== '')) {
    const [, helped] = /^# HELP (\w+) \S/.exec(each) ?? [];
    const [, typed] = /^# TYPE (\w+) (?:gauge|counter)$/.exec(each) ?? [];
    const [, name, labels = '', value] = line.exec(each) ?? [];
    if (helped !== undefined && !families.has(helped)) families.add(helped);
    else if (typed !== undefined && families.has(typed)) family = typed;
    else if (name === undefined) throw new Error(`no line of the format: ${each}`);
    else if (name !== family || name + labels in samples) throw new Error(`not of its family: ${each}`);
    else samples[name + labels] = Number(value);
  }
  return { families, samples };
}

/** Returns how an answer differs from its schema, also by what no schema names; null: it does not. */
function differs(answer: unknown, schema: Members, { components }: Document): string | null {
  const text = JSON.stringify({ ...schema, components }).replaceAll('"#/components/', '"#/$defs/');
  const { components: defs, ...own } = JSON.parse(text) as Members;
  const { success, error } = z
    .fromJSONSchema(closedObjects({ ...own, $defs: defs }) as z.core.JSONSchema.JSONSchema)
    .safeParse(answer);
  return success ? null : error.message;
}

/** Has objects take no members but their own. */
function closedObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closedObjects);
  if (typeof schema !== 'object' || schema === null) return schema;
  const closed = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closedObjects(value)]));
  const open = 'properties' in schema && !('additionalProperties' in schema);
  return open && (schema as Members).type === 'object' ? { ...closed, additionalProperties: false } : closed;
}

/** Returns the tags with which a page would load something from elsewhere, or run something. */
function foreign(html: string): string[] {
  const tags = html.replace(/<style>[^<]*<\/style>/g, '').match(/<[a-z][^>"]*(?:"[^"]*"[^>"]*)*>/gi) ?? [];
  return tags.filter((tag) => {
    const names = tag.replaceAll(/"[^"]*"/g, '""').matchAll(/\s([\w-]+)(?==)/g);
    const attributes = [...names].map(([, name = '']) => name.toLowerCase());
    const loads = /^<(?:script|iframe|object|embed|base|img)\b/i.test(tag) || /^<link\b(?!.*href="data:)/i.test(tag);
    return loads || attributes.some((name) => name.startsWith('on') || name === 'src' || name === 'srcset');
  });
}
