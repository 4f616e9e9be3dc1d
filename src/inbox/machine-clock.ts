import { type Bound, pick, Store, type Writes } from '../sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/** The state of the machine's clock as an earlier process believed it. */
export type StoredAnchor = Readonly<Omit<InboxTables['machine_clock'], 'clock_id'>>;

const columns = ['boot_id', 'booted_at', 'confirmed', 'doubted_at'] as const;

export class MachineClockTable extends Store<Writes> {
  readonly #read = this.db.rows(() => query.selectFrom('machine_clock').select(columns));
  readonly #write = this.db.change((anchor: Bound<StoredAnchor>) =>
    query.replaceInto('machine_clock').values({ clock_id: 1, ...pick(anchor, columns) }),
  );

  /** Null: nothing is stored yet. */
  anchor(): StoredAnchor | null {
    return this.#read.get() ?? null;
  }

  save(anchor: StoredAnchor): void {
    this.db.transaction(() => this.#write.run(anchor));
  }
}
