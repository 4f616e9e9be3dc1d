import type { z } from 'zod';
import type { HttpRead } from '../../storefront/http/reads.ts';

/** A request that a daemon answers. */
export interface Operation {
  readonly summary: string;
  /** The storefront interface answers it too; absent: only the operator's interface does. */
  readonly storefront?: true;
  /** The reader's function that answers it: only public columns, which caches and pages of the allow-list may have. */
  readonly read?: HttpRead;
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly answer: z.ZodType;
  /** Returns the body of the 404 for an id whose subject does not exist. The id is as requested. */
  readonly missing?: (id: string) => { readonly error: string; readonly message: string };
  /** Meanings of further statuses, besides 200, 400 and those of every route. */
  readonly refusals?: Readonly<Record<number, string>>;
}
