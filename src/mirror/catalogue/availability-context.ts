import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Context = Tables['_availability_context'];

/** Information in the newest availability answer other than dates and variants. */
export interface AvailabilityContextTable {
  store(context: Context): void;
}

export function availabilityContext(db: Writes): AvailabilityContextTable {
  const put = db.change(({ product_id, currency, document, read_at }: Bound<Context>) =>
    query
      .insertInto('_availability_context')
      .values({ product_id, currency, document, read_at })
      .onConflict((taken) =>
        taken.doUpdateSet({ document, read_at }).where('_availability_context.document', '<>', document),
      ),
  );
  return {
    store: (context) => {
      put.run(context);
    },
  };
}
