import type { Examples } from '../service/shapes.rules.ts';
import type { Image } from './image.rules.ts';

/**
 * A venue or an activity, and the products that belong to it (specification §2). Values of an unexpected type are null.
 */
export interface Experience {
  readonly experience_id: number;
  readonly title: string | null;
  readonly tagline: string | null;
  readonly description: string | null;
  /** With the scheme http or https. */
  readonly url: string | null;
  readonly address: string | null;
  readonly city_name: string | null;
  readonly country_name: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly rating: number | null;
  readonly rating_count: number | null;
  /** Minor units of the requested currency; null if there is no exact price. */
  readonly from_price: number | null;
  readonly product_ids: readonly number[];
  /** Null if the read has no images member: then it is no evidence about images. */
  readonly images: readonly Image[] | null;
  /** The service's JSON without `images`: those are shown only by the view `experience_images`, which fails closed. */
  readonly document: string;
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}
