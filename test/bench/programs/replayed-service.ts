import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { roll } from '../../../src/sandbox/random.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';

/*
 * The sandbox's answers, each kept as its bytes, in a process of its own: what is measured beside it pays for no world.
 * Tells its parent its address; told `calls`, the paths asked for since; told `bytes`, how many bytes of dates these were answered
 * with; told `change`, it first changes the prices of
 * one date in a hundred; told `change all`, of every date; told `touch`, only an instant in each answer. Not compressed, as the prototypes of performance.md were not.
 */

const [products = '200'] = process.argv.slice(2);
const sandbox = await startSandbox({ products: Number(products), counts: 'none' });
const bodies = new Map<string, Buffer>();
let asked: string[] = [];
let changes = 0;

async function bodyOf(path: string): Promise<Buffer> {
  const known = bodies.get(path);
  if (known !== undefined) return known;
  const answer = await fetch(`${sandbox.url}${path}`);
  if (!answer.ok) throw new Error(`${answer.status} for ${path}`);
  const body = Buffer.from(await answer.arrayBuffer());
  bodies.set(path, body);
  return body;
}

function bytesOf(paths: readonly string[]): number {
  const dates = paths.filter((path) => path.includes('availability'));
  return dates.reduce((sum, path) => sum + (bodies.get(path)?.length ?? 0), 0);
}

interface Priced {
  readonly dates?: readonly {
    readonly date: string;
    readonly timeslots: readonly {
      readonly variants: readonly { readonly price_mediation: { total_retail_price_incl_vat: number } }[];
    }[];
  }[];
}

/** Moves a price by less than a doubling, and each date by a share of its own: alike moves of many products are held. */
function moved(price: number, share: number): number {
  return Math.round(price * (90 + 30 * share)) / 100;
}

function change(share: number): void {
  changes += 1;
  for (const [path, body] of bodies) {
    const answer = JSON.parse(body.toString()) as Priced;
    const changed = (answer.dates ?? []).filter(({ date }) => roll(changes, path, date) < share);
    for (const { date, timeslots } of changed)
      for (const { variants } of timeslots)
        for (const { price_mediation: prices } of variants)
          prices.total_retail_price_incl_vat = moved(prices.total_retail_price_incl_vat, roll(changes, date, path));
    if (changed.length > 0) bodies.set(path, Buffer.from(JSON.stringify(answer)));
  }
}

/** What a service may put into each answer that nobody asked for. */
function touch(): void {
  changes += 1;
  for (const [path, body] of bodies) {
    const answer = JSON.parse(body.toString()) as Priced;
    if (answer.dates !== undefined) bodies.set(path, Buffer.from(JSON.stringify({ ...answer, generated_at: changes })));
  }
}

const server = createServer((request, response) => {
  const { url: path = '/' } = request;
  asked.push(path);
  bodyOf(path).then(
    (body) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    },
    () => response.writeHead(404).end(),
  );
});
process.on('message', (wanted) => {
  if (wanted === 'change') change(0.01);
  if (wanted === 'change all') change(1);
  if (wanted === 'touch') touch();
  if (wanted === 'bytes') process.send?.(bytesOf(asked));
  else process.send?.(asked);
  if (wanted !== 'bytes') asked = [];
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
