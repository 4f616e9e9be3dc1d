import type { Instant } from '../../../clock.ts';
import type { ImageType } from '../../../domain/catalogue/image-file.ts';
import type { Tables } from '../../sql/tables.ts';

export type ImageFile = Tables['_image_file'];
export type ImageFileKey = Pick<ImageFile, 'product_id' | 'image_key' | 'size'>;

/** Columns of a row that are set when a complete, verified file is stored. */
export interface StoredFile extends Pick<ImageFile, 'etag' | 'last_modified'> {
  readonly file: string;
  readonly checksum: string;
  readonly media_type: ImageType;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
  readonly fetched_at: Instant;
}

/** Products above `after` up to `last`. */
export interface ProductRange {
  readonly after: number;
  readonly last: number;
}
