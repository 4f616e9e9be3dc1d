import type { Writes } from '../../sqlite/statements.ts';
import { type RecordDue, recordDue } from './record-due.ts';
import { type RecordMaking, recordMaking } from './record-making.ts';
import { type RecordOutcomes, recordOutcomes } from './record-outcomes.ts';
import { type RecordReads, recordReads } from './record-reads.ts';

/** State of each record's reads, and the instant at which it is due. */
export interface RecordTable extends RecordReads, RecordMaking, RecordOutcomes, RecordDue {
  /**
   * Returns how often something was made due since the start. While it is unchanged, only time makes more due, or a
   * resync: a sync cycle under way takes a quarter of a second to notice that.
   */
  generation(): number;
}

export function recordTable(db: Writes): RecordTable {
  let generation = 0;
  const madeDue = () => {
    generation += 1;
  };
  return {
    generation: () => generation,
    ...recordReads(db),
    ...recordMaking(db, madeDue),
    ...recordOutcomes(db),
    ...recordDue(db, madeDue),
  };
}
