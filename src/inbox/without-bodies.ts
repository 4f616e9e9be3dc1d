import type { Database } from '../sqlite/database-file.ts';
import { type Bound, sql, writesTo } from '../sqlite/statements.ts';
import { query } from './tables.ts';

/**
 * Removes from a copy of an inbox the bodies that are not needed again: those of deliveries with an outcome whose
 * effects are in the mirror's copy. Waiting deliveries keep their bodies, and are applied where the copy is restored.
 */
export function removeAppliedBodies(copy: Database, applied_delivery: number): void {
  const db = writesTo(copy);
  const empty = db.change(({ applied }: Bound<{ applied: number }>) =>
    query
      .updateTable('delivery')
      .set({ body: sql<Buffer>`x''`, coding: 0 })
      .where('state', '<>', 'waiting')
      .where('delivery_id', '<=', applied)
      .where('coding', 'is not', 0),
  );
  db.transaction(() => empty.run({ applied: applied_delivery }));
  copy.exec('VACUUM');
}
