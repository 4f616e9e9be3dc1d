import type { Database } from '../../sqlite/database-file.ts';

/** What the nearest availability answer says beyond dates and variants. Inside the caller's transaction. */
export interface AvailabilityContextTable {
  store(context: { product_id: number; currency: string; document: string; read_at: number }): void;
}

export function availabilityContext(db: Database): AvailabilityContextTable {
  const put = db.prepare(
    `INSERT INTO availability_context (product_id, currency, document, read_at) VALUES (@product_id, @currency, @document, @read_at)
     ON CONFLICT DO UPDATE SET document = @document, read_at = @read_at WHERE document <> @document`,
  );
  return {
    store: (context) => {
      put.run(context);
    },
  };
}
