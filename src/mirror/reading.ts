import type { Database } from '../sqlite/database-file.ts';
import { budgetTable } from './budget.ts';
import { categoryTable } from './categories.ts';
import { experienceTables } from './experiences.ts';
import { openMirrorForReading } from './files.ts';
import type { Mirror } from './mirror.ts';
import { productTables } from './products.ts';
import { recordTable } from './records.ts';

/** The facts that questions are answered from, whether or not a daemon runs. */
export type MirrorFacts = Pick<Mirror, 'records' | 'products' | 'categories' | 'experiences' | 'budget'>;

/** The same queries over a connection that cannot write: one whose function writes would throw. */
export function mirrorFacts(db: Database): MirrorFacts {
  return {
    records: recordTable(db),
    products: productTables(db),
    categories: categoryTable(db),
    experiences: experienceTables(db),
    budget: budgetTable(db),
  };
}

/** Opens the file as a storefront would; see `openMirrorForReading` for what is refused. */
export function openMirrorFacts(path: string): MirrorFacts & Disposable {
  const db = openMirrorForReading(path);
  return { ...mirrorFacts(db), [Symbol.dispose]: () => db.close() };
}
