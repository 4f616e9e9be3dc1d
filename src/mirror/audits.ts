import type { Instant } from '../clock.ts';
import { type Bound, pick, type Writes } from '../sqlite/statements.ts';
import { query } from './sql/sql.ts';
import type { Tables } from './sql/tables.ts';

/** Results of random reads, by period and tier. */
export interface AuditTable {
  /** Adds to the counts of a period. */
  count(found: Tables['_audit']): void;
  /** Forgets periods that began before an instant. */
  prune(before: Instant): void;
}

export function auditTable(db: Writes): AuditTable {
  const add = db.change((found: Bound<Tables['_audit']>) =>
    query
      .insertInto('_audit')
      .values(pick(found, ['from_at', 'tier', 'audited', 'outdated']))
      .onConflict((known) =>
        known.columns(['from_at', 'tier']).doUpdateSet(({ eb }) => ({
          audited: eb('_audit.audited', '+', found.audited),
          outdated: eb('_audit.outdated', '+', found.outdated),
        })),
      ),
  );
  const drop = db.change(({ before }: Bound<{ before: Instant }>) =>
    query.deleteFrom('_audit').where('from_at', '<', before),
  );
  return {
    count: (found) => {
      add.run(found);
    },
    prune: (before) => {
      drop.run({ before });
    },
  };
}
