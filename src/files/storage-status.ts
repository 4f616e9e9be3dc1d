import type { StorageFacts } from '../says/conditions/facts.rules.ts';

/** Name of one of the two files. */
export type FileName = 'mirror' | 'inbox';

/** State of writes to the two files, and their free space. */
export interface StorageStatus extends StorageFacts {
  readonly trouble: (NonNullable<StorageFacts['trouble']> & { readonly file: FileName }) | null;
  readonly directories: readonly (StorageFacts['directories'][number] & { readonly of: FileName })[];
}
