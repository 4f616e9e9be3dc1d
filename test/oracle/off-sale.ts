import type { Row } from './expected.ts';
import type { Shown } from './shown.ts';

/** What only availability says of a variant: it stays until a read of a product that is on sale says otherwise. */
const fromAvailability = ['languages', 'language_selection', 'dynamic_variant_pricing'];

/**
 * The rows that can be compared. Of a product that is not on sale the service shows no dates, and a mirror keeps those
 * it has read before, whatever they were: each must say `not_on_sale`, and nothing more is known of them.
 */
export function comparableRows(
  view: string,
  rows: Row[],
  { sale_status, recommended_alternative_product_id }: Shown,
): Row[] {
  if (sale_status === 'available') return rows;
  switch (view) {
    case 'products':
      // Only a notification tells of it, and that may have been lost: it is the right one, or none.
      return rows.map((row) =>
        row.alternative_product_id === recommended_alternative_product_id
          ? { ...row, alternative_product_id: null }
          : row,
      );
    case 'availability_days':
      return rows.filter(({ state }) => state !== 'not_on_sale');
    case 'availability_slots':
      return [];
    case 'variants':
      return rows
        .filter(({ source }) => source === 'variants')
        .map((row) => ({ ...row, languages: null, document: plain(row) }));
    default:
      return rows;
  }
}

function plain({ document }: Row): string {
  const members = Object.entries(JSON.parse(String(document)) as Row);
  return JSON.stringify(Object.fromEntries(members.filter(([name]) => !fromAvailability.includes(name))));
}
