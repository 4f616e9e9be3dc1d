import { Store, type Writes } from '../../sqlite/statements.ts';
import { BudgetTable, InterestTable, SiblingReads, SignalTable } from './budget.ts';
import { JobTable } from './jobs.ts';
import { OfferTable } from './offers.ts';
import { RecordTable } from './records.ts';
import { TargetTable } from './targets.ts';
import { ShortListTable, WalkTable } from './walks.ts';

/** Tables of the planner: each record with its next read, the reason for it and the result of the last one. */
export class ScheduleTables extends Store<Writes> {
  readonly records = new RecordTable(this.db);
  readonly walks = new WalkTable(this.db);
  readonly shortLists = new ShortListTable(this.db);
  readonly jobs = new JobTable(this.db);
  readonly budget = new BudgetTable(this.db);
  readonly signals = new SignalTable(this.db);
  readonly siblings = new SiblingReads(this.db);
  readonly interest = new InterestTable(this.db);
  readonly offers = new OfferTable(this.db);
  readonly targets = new TargetTable(this.db);
}
