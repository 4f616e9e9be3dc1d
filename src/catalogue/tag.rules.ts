import type { Examples } from '../service/shapes.rules.ts';

/** A tag of products. Values of an unexpected type are null. */
export interface Tag {
  readonly tag_id: number;
  readonly name: string | null;
  /** Name of its type, such as a theme. */
  readonly type_name: string | null;
  /** Name of the group of that type. */
  readonly type_group_name: string | null;
  /** The service's JSON. */
  readonly document: string;
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}
