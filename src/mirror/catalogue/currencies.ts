import { splitListEdition } from '../../domain/schedule/record-kinds.ts';
import { minorUnitExponent } from '../../domain/values/money.ts';
import type { Bound, Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Row = Tables['currencies'];

/** The mirrored currencies: the primary one, and those whose product list is walked. */
export interface CurrencyTable {
  /** Makes them those whose lists are walked now. */
  followWalks(): void;
}

export function currencyTable(db: Writes): CurrencyTable {
  const primary = db.values(() => query.selectFrom('_mirror').select('currency').where('currency', 'is not', null));
  const editions = db.values(() =>
    query.selectFrom('_record').select('edition').where('resource', '=', 'products').where('product_id', '=', 0),
  );
  const stored = db.rows(() => query.selectFrom('currencies').selectAll());
  const put = db.change(({ currency, is_primary, exponent }: Bound<Row>) =>
    query
      .insertInto('currencies')
      .values({ currency, is_primary, exponent })
      .onConflict((taken) => taken.doUpdateSet({ is_primary })),
  );
  const drop = db.change(({ currency }: Bound<Pick<Row, 'currency'>>) =>
    query.deleteFrom('currencies').where('currency', '=', currency),
  );
  return {
    followWalks: () => {
      const known = new Map(stored.all().map(({ currency, is_primary }) => [currency, is_primary]));
      const first = primary.get() ?? null;
      const walked = editions.all().map((edition) => splitListEdition(edition).currency);
      for (const currency of new Set([...(first === null ? [] : [first]), ...walked])) {
        const is_primary = currency === first ? 1 : 0;
        if (known.get(currency) !== is_primary)
          put.run({ currency, is_primary, exponent: minorUnitExponent(currency) ?? 2 });
        known.delete(currency);
      }
      for (const currency of known.keys()) drop.run({ currency });
    },
  };
}
