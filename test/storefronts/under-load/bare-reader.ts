import Database from 'better-sqlite3';
import { readHard } from './read-hard.ts';

/* A storefront in Node without anything of ours: better-sqlite3 alone. */

readHard(({ path, sql, begin, commit, again }) => {
  const db = new Database(path, { readonly: true, timeout: 2000 });
  const prepare = <Row extends readonly unknown[]>(text: string) =>
    db.prepare<unknown[], Row>(text).raw() as unknown as { all(...values: unknown[]): Row[] };
  const product = prepare<[string, number]>(sql.product);
  const slots = prepare<number[]>(sql.slots);
  const calendar = prepare<[number, string, ...(number | null)[]]>(sql.calendar);
  return {
    product: (product_id) => product.all(product_id)[0],
    slots: (product_id, from, to) => slots.all(product_id, from, to),
    calendar: (product_id, from, to) => calendar.all(product_id, from, to),
    together: (read) => {
      db.exec(begin);
      const result = read();
      db.exec(commit);
      return result;
    },
    recover: () => {
      if (db.inTransaction) db.exec(again);
    },
  };
});
