import type { WriteTrouble } from '../domain/files/write-trouble.ts';

/** Which of the two files. */
export type FileName = 'mirror' | 'inbox';

/** Whether the two files can be written, and how much space they have. */
export interface StorageStatus {
  /** Why nothing can be written now; null: it can. */
  readonly trouble: {
    readonly kind: WriteTrouble;
    readonly file: FileName;
    readonly path: string;
    readonly since: number;
    /** Bytes that must become free before space is no longer low; null: no disk is full. */
    readonly missing_bytes: number | null;
  } | null;
  readonly directories: readonly {
    readonly of: FileName;
    readonly path: string;
    readonly free_bytes: number;
    /** Below this, bulk reads (lanes fill, weekly and far) pause. */
    readonly low_below_bytes: number;
    readonly low: 0 | 1;
  }[];
}

/** An alarm that only the running process knows: it cannot be stored, or ends with the process. */
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
