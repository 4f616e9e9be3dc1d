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
}

/** An alarm that only the running process knows, because it cannot be stored or ends with the process. */
export interface LiveAlarm {
  readonly kind:
    | 'disk-full'
    | 'disk-low'
    | 'file-locked'
    | 'snapshot-failing'
    | 'backup-failing'
    | 'backup-unusable'
    | 'database-behind';
  readonly raised_at: number;
  readonly products: 0;
}
