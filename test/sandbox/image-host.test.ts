import { hash } from 'node:crypto';
import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';

async function hosts() {
  const stack = new AsyncDisposableStack();
  const images = stack.use(await startImageHost({ clock: systemClock, seed: 1 }));
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 6, image_origin: images.url }));
  const answer = await fetch(`${sandbox.url}/v2/products?page_size=6`);
  const { products } = (await answer.json()) as { products: { images: Record<string, string>[] }[] };
  const named = products.flatMap(({ images }) => images);
  const [first] = named;
  if (first === undefined) throw new Error('no images');
  const key = /([0-9a-f]{32})\.jpg/.exec(first.large ?? '')?.[1] ?? '';
  return { images, named, url: first.large ?? '', key, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function bytesOf(url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer());
}

describe('the image host of the sandbox', () => {
  it('serves every image that the catalogue names, of that size, and each with bytes of its own', async () => {
    await using harness = await hosts();
    const seen = new Set<string>();
    const sides = { small: 128, medium: 250, large: 500, extra_large: 1200 };
    for (const image of harness.named)
      for (const [size, side] of Object.entries(sides)) {
        const body = await bytesOf(image[size] ?? '');
        expect(imageSize(body)).toMatchObject({ type: 'jpg', width: side, height: side });
        seen.add(hash('sha256', body));
      }
    expect(seen.size).toBe(harness.named.length * 4);
    expect(harness.images.requests()).toBe(seen.size);
  });

  it('says 304 to who has it, and sends other bytes once it is replaced', async () => {
    await using harness = await hosts();
    const first = await fetch(harness.url);
    expect(first.headers.get('cache-control')).toBe('max-age=86400');
    expect(first.headers.get('last-modified')).not.toBeNull();
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect((await fetch(harness.url, { headers })).status).toBe(304);
    harness.images.replace(harness.key);
    const second = await fetch(harness.url, { headers });
    expect(second.status).toBe(200);
    expect(await second.bytes()).not.toEqual(await first.bytes());
    expect(harness.images.unchanged()).toBe(1);
  });

  it('says 404, or 410, of what is withdrawn', async () => {
    await using harness = await hosts();
    for (const status of [404, 410] as const) {
      harness.images.withdraw(harness.key, status);
      expect((await fetch(harness.url)).status).toBe(status);
    }
  });

  it('without an image origin the catalogue names a host that does not exist', async () => {
    await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 6 });
    const text = await (await fetch(`${sandbox.url}/v2/products`)).text();
    expect(text).toContain('https://images.sandbox.invalid/images/content/');
  });
});
