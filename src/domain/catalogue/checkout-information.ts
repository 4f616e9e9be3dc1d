import type { Examples } from '../service/unread.ts';

/** Data that a sale needs (specification §2), in one language. Flags are null if the service left them out. */
export interface CheckoutInformation {
  readonly has_timeslots: boolean | null;
  readonly has_dynamic_pricing: boolean | null;
  readonly must_know: string | null;
  readonly good_to_know: string | null;
  readonly document: string;
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}
