import type { Adapter } from './adapter.rules.ts';

/** An adapter as it is in use. */
export interface NamedAdapter {
  /** Null: the adapter that is built in. */
  readonly file: string | null;
  /** The beginning of the file's SHA-256; null: the adapter that is built in. */
  readonly hash: string | null;
  /** A function that is left out is the built-in adapter's. */
  readonly module: Partial<Adapter>;
}

export const builtIn: NamedAdapter = { file: null, hash: null, module: {} };
