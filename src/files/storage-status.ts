import type { WriteTrouble } from '../domain/files/write-trouble.ts';

/** Which of the two files. */
export type FileName = 'mirror' | 'inbox';

/** Whether the two files can be written, and what room there is for them. */
export interface StorageStatus {
  /** Why nothing is written now; null: it is. */
  readonly trouble: {
    readonly kind: WriteTrouble;
    readonly file: FileName;
    readonly path: string;
    readonly since: number;
    /** Bytes that have to become free before space is no longer low; null: it is not low, or no disk is full. */
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

/** A condition that only the running process knows: it cannot be stored, or ends with the process. */
export interface LiveAlarm {
  readonly kind: 'disk-full' | 'disk-low' | 'file-locked' | 'snapshot-failing';
  readonly raised_at: number;
  readonly products: 0;
}
