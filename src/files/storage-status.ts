import type { WriteTrouble } from '../domain/files/write-trouble.ts';

/** Name of one of the two files. */
export type FileName = 'mirror' | 'inbox';

/** State of writes to the two files, and their free space. */
export interface StorageStatus {
  /** Reason why nothing can be written now; null if writes work. */
  readonly trouble: {
    readonly kind: WriteTrouble;
    readonly file: FileName;
    readonly path: string;
    readonly since: number;
    /** Bytes that must become free before space is no longer low; null if no disk is full. */
    readonly missing_bytes: number | null;
  } | null;
  readonly directories: readonly {
    readonly of: FileName;
    readonly path: string;
    readonly free_bytes: number;
    /** Free bytes below which bulk reads (lanes fill, weekly and far) pause. */
    readonly low_below_bytes: number;
    readonly low: 0 | 1;
  }[];
  /** Instant since which space has been low; null if it is not. */
  readonly low_since: number | null;
}
