import { hex, roll } from '../random.ts';
import type { SandboxImage, SandboxProduct } from '../world/catalogue.ts';
import type { Quirks } from './quirks.ts';

/** The read that shows a product. */
export type AnswerShape = 'list' | 'detail' | 'other';

/** Invalid values that a hostile product shows beside the correct ones. A mirror must refuse them. */
export interface HostileValues {
  /** True: the from-price is negative. */
  readonly from_price: boolean;
  /** Variants with a negative price. */
  readonly variant_ids: readonly number[];
  /** Names of images with forbidden addresses. */
  readonly images: readonly string[];
}

/** Terminal escapes, a bell, an override of direction, a C1 control, markup. */
const noise = '\u001b[31m\u001b]0;owned\u0007 \u202edesrever\u202c \u009b2J\u0085 <script>alert(1)</script>';
const longText = ' and a very long name'.repeat(5_000);

/** Origins that image addresses must never have, each before `/images/content/<name>.jpg`. */
const hostileOrigins = ['file://', 'javascript:alert(1)/', 'http://10.0.0.1', 'http://127.0.0.1', 'data:text/html,x'];

/** Returns a product as a read shows it, distorted by the quirks. */
export function roughProduct(
  product: SandboxProduct,
  read: AnswerShape,
  { seed, quirks, longest }: { seed: number; quirks: Quirks; longest: number | null },
): SandboxProduct {
  const { id } = product;
  let shown = product;
  if (quirks.unrated === 'zero') shown = withoutRating(shown);
  if (roll(seed, id, 'escapes') < quirks.escapes) shown = withNoise(shown, id === longest ? longText : '');
  if (isHostile(id, seed, quirks)) shown = withHostileValues(shown, seed);
  if (read !== 'other' && roll(seed, id, read, 'images null') < quirks.images_null)
    shown = { ...shown, images_null: true, recorded: merged(shown.recorded, { images: null }) };
  return shown;
}

/** Returns the id of the product with a very long title: the first one with noisy texts; null: none. */
export function longestTitle(products: readonly SandboxProduct[], seed: number, { escapes }: Quirks): number | null {
  return products.find(({ id }) => roll(seed, id, 'escapes') < escapes)?.id ?? null;
}

/** Returns the hostile values of a product; null: none. */
export function hostileValuesOf(product: SandboxProduct, seed: number, quirks: Quirks): HostileValues | null {
  if (!isHostile(product.id, seed, quirks)) return null;
  return {
    from_price: true,
    // A factor of -0.5 leaves a price of 0 at 0, which is not negative.
    variant_ids: product.price === 0 ? [] : product.variants.slice(1, 2).map(({ id }) => id),
    images: hostileImages(product, seed).map(({ name }) => name),
  };
}

function isHostile(id: number, seed: number, { hostile_values }: Quirks): boolean {
  return roll(seed, id, 'hostile') < hostile_values;
}

function withoutRating(product: SandboxProduct): SandboxProduct {
  const zero = { average: 0, total: 0 };
  const { ratings } = product.recorded ?? {};
  const rated = (ratings as { total?: unknown } | null | undefined)?.total;
  return {
    ...product,
    rating: product.rating ?? zero,
    recorded: rated ? product.recorded : merged(product.recorded, { ratings: zero }),
  };
}

function withNoise(product: SandboxProduct, more: string): SandboxProduct {
  const noisy = (text: string) => `${text} ${noise}`;
  const { title, tagline, description, edits, recorded } = product;
  return {
    ...product,
    title: `${noisy(title)}${more}`,
    tagline: noisy(tagline),
    description: noisy(description),
    edits: edits === null ? null : noisyTexts(edits, noisy),
    recorded: merged(recorded, { title: `${noisy(String(recorded?.title))}${more}` }),
  };
}

function noisyTexts(edits: Readonly<Record<string, unknown>>, noisy: (text: string) => string) {
  const prose = (name: string) => name !== 'starting_time' && name !== 'duration';
  return Object.fromEntries(
    Object.entries(edits).map(([name, value]) => [
      name,
      typeof value === 'string' && prose(name) ? noisy(value) : value,
    ]),
  );
}

function withHostileValues(product: SandboxProduct, seed: number): SandboxProduct {
  const { recorded } = product;
  const images = hostileImages(product, seed);
  return {
    ...product,
    from_price: -500,
    variants: product.variants.map((variant, index) => (index === 1 ? { ...variant, factor: -0.5 } : variant)),
    images: [...product.images, ...images],
    recorded: merged(recorded, { price: -5 }),
  };
}

function hostileImages({ id }: SandboxProduct, seed: number): SandboxImage[] {
  return hostileOrigins.map((origin, index) => ({
    name: hex(32, seed, id, index, 'hostile image'),
    credit: 'Photo: nobody',
    alt_text: null,
    origin,
  }));
}

function merged(recorded: SandboxProduct['recorded'], members: Readonly<Record<string, unknown>>) {
  return recorded === null ? null : { ...recorded, ...members };
}
