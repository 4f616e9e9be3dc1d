import type { Database } from '../sqlite/database-file.ts';

/** What an earlier process believed of the machine's clock. */
export interface StoredAnchor {
  readonly boot_id: string | null;
  readonly booted_at: number;
  readonly confirmed: 0 | 1;
  readonly doubted_at: number | null;
}

export interface MachineClockTable {
  /** Null: nothing is stored yet. */
  anchor(): StoredAnchor | null;
  save(anchor: StoredAnchor): void;
}

export function machineClockTable(db: Database): MachineClockTable {
  const read = db.prepare<[], StoredAnchor>('SELECT boot_id, booted_at, confirmed, doubted_at FROM machine_clock');
  const write = db.prepare<StoredAnchor>(
    `INSERT OR REPLACE INTO machine_clock (clock_id, boot_id, booted_at, confirmed, doubted_at)
     VALUES (1, @boot_id, @booted_at, @confirmed, @doubted_at)`,
  );
  return {
    anchor: () => read.get() ?? null,
    save: (anchor) => {
      write.run(anchor);
    },
  };
}
