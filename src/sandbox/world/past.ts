import type { Clock } from '../../kernel/clock.ts';
import type { SandboxProduct } from './catalogue.ts';

/** The states of products before their changes, for as long as a cache may still show them. */
export interface Past {
  /** Stores the current state of a product. Called before it changes. */
  keep(product: SandboxProduct): void;
  /** Returns a product as it was `ms` milliseconds ago. */
  before(product: SandboxProduct, ms: number): SandboxProduct;
  /**
   * Returns a proxy of the product for code that changes it. It stores the state before any member is set, or a date
   * sells out.
   */
  watched(product: SandboxProduct): SandboxProduct;
}

/**
 * Creates the store. `longest` returns the longest time in milliseconds for which states are needed; 0: nothing is
 * stored.
 */
export function createPast(clock: Clock, longest: () => number): Past {
  const kept = new Map<number, { readonly until: number; readonly product: SandboxProduct }[]>();
  const watching = new WeakMap<SandboxProduct, SandboxProduct>();

  function keep(product: SandboxProduct): void {
    if (longest() === 0) return;
    const now = clock.now();
    const own = (kept.get(product.id) ?? []).filter(({ until }) => until > now - longest());
    own.push({ until: now, product: copyOf(product) });
    kept.set(product.id, own);
  }

  function watch(product: SandboxProduct): SandboxProduct {
    return new Proxy(product, {
      get: (target, name) =>
        name === 'sold_out' ? watchedDates(target.sold_out, () => keep(target)) : Reflect.get(target, name),
      set: (target, name, value) => {
        keep(target);
        return Reflect.set(target, name, value);
      },
    });
  }

  return {
    keep,
    before: (product, ms) => kept.get(product.id)?.find(({ until }) => until > clock.now() - ms)?.product ?? product,
    watched: (product) => {
      const known = watching.get(product) ?? watch(product);
      watching.set(product, known);
      return known;
    },
  };
}

function copyOf(product: SandboxProduct): SandboxProduct {
  return {
    ...product,
    images: product.images.map((image) => ({ ...image })),
    sold_out: new Set(product.sold_out),
  };
}

function watchedDates(dates: Set<string>, before: () => void): Set<string> {
  return new Proxy(dates, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name === 'add' || name === 'delete' || name === 'clear') before();
      return member.bind(target);
    },
  });
}
