import type { Served } from '../../src/sandbox/sandbox.ts';

/** One image in one answer that left the sandbox whole. */
export interface ServedImage {
  readonly key: string;
  /** As it was sent; null also where that was empty or blank. */
  readonly credit: string | null;
}

/** A complete answer about a product's images. */
export interface ServedRead {
  readonly at: number;
  readonly images: readonly ServedImage[];
}

/** What the sandbox told of each product's images, by its own record: the mirror is held against it. */
export interface ServedImages {
  note(answer: Served): void;
  /** Every answer about a product, in order. */
  reads(product_id: number): readonly ServedRead[];
  ids(): number[];
}

interface Sent {
  readonly id: string;
  readonly images: readonly { large: string; credit?: string | null; credits?: string | null }[];
}

export function servedImages(): ServedImages {
  const all = new Map<number, ServedRead[]>();
  const add = ({ id, images }: Sent, at: number) => {
    const reads = all.get(Number(id)) ?? [];
    all.set(Number(id), reads);
    reads.push({
      at,
      images: images.map(({ large, credit, credits }) => {
        const said = credit ?? credits ?? '';
        return { key: /\/([0-9a-f]{32})\.jpg/.exec(large)?.[1] ?? '', credit: said.trim() === '' ? null : said };
      }),
    });
  };
  return {
    note: ({ at, path, query, body }) => {
      // A list of one row only asks whether the service answers: nothing of it is stored.
      if (path === '/v2/products' && query.get('page_size') !== '1')
        for (const product of (JSON.parse(body) as { products: Sent[] }).products) add(product, at);
      if (/^\/v2\/products\/\d+$/.test(path)) add((JSON.parse(body) as { product: Sent }).product, at);
    },
    reads: (product_id) => all.get(product_id) ?? [],
    ids: () => [...all.keys()],
  };
}
