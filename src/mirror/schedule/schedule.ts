import type { Writes } from '../../sqlite/statements.ts';
import { type BudgetTable, budgetTable } from './budget.ts';
import { type InterestTable, interestTable } from './interest.ts';
import { JobTable } from './jobs.ts';
import { type OfferTable, offerTable } from './offers.ts';
import { RecordTable } from './records.ts';
import { type ShortListTable, shortListTable } from './short-lists.ts';
import { type SiblingReads, siblingReads } from './siblings.ts';
import { type SignalTable, signalTable } from './signals.ts';
import { type TargetTable, targetTable } from './targets.ts';
import { type WalkTable, walkTable } from './walks.ts';

/** Tables of the planner: each record with its next read, the reason for it and the result of the last one. */
export interface ScheduleTables {
  readonly records: RecordTable;
  readonly walks: WalkTable;
  readonly shortLists: ShortListTable;
  readonly jobs: JobTable;
  readonly budget: BudgetTable;
  readonly signals: SignalTable;
  readonly siblings: SiblingReads;
  readonly interest: InterestTable;
  readonly offers: OfferTable;
  readonly targets: TargetTable;
}

export function scheduleTables(writes: Writes): ScheduleTables {
  return {
    records: new RecordTable(writes),
    walks: walkTable(writes),
    shortLists: shortListTable(writes),
    jobs: new JobTable(writes),
    budget: budgetTable(writes),
    signals: signalTable(writes),
    siblings: siblingReads(writes),
    interest: interestTable(writes),
    offers: offerTable(writes),
    targets: targetTable(writes),
  };
}
