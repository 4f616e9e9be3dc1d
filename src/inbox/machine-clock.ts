import type { Writes } from '../sqlite/statements.ts';
import { type Bound, pick } from '../sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** The state of the machine's clock as an earlier process believed it. */
export type StoredAnchor = Readonly<Omit<InboxTables['machine_clock'], 'clock_id'>>;

export interface MachineClockTable {
  /** Null: nothing is stored yet. */
  anchor(): StoredAnchor | null;
  save(anchor: StoredAnchor): void;
}

const columns = ['boot_id', 'booted_at', 'confirmed', 'doubted_at'] as const;

export function machineClockTable(db: Writes): MachineClockTable {
  const read = db.rows(() => query.selectFrom('machine_clock').select(columns));
  const write = db.change((anchor: Bound<StoredAnchor>) =>
    query.replaceInto('machine_clock').values({ clock_id: 1, ...pick(anchor, columns) }),
  );
  return {
    anchor: () => read.get() ?? null,
    save: (anchor) => {
      db.transaction(() => write.run(anchor));
    },
  };
}
