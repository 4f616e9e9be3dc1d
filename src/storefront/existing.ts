import type { Connection } from './connection.ts';
import { badArgument } from './problems.ts';

type Asked = Readonly<Partial<Record<'city_id' | 'country_id' | 'tag_id', number | undefined>>>;

/** Throws where a city, a country or a tag is asked for that no product has. */
export function existing(connection: Connection): (question: Asked) => void {
  const checks = (['city_id', 'country_id', 'tag_id'] as const).map((name) => {
    const view = name === 'tag_id' ? 'product_tags' : 'products';
    const one = connection.query<[number], { found: 1 }>(`SELECT 1 AS found FROM ${view} WHERE ${name} = ? LIMIT 1`);
    const called = name === 'tag_id' ? 'NULL' : `max(${name.replace('_id', '_name')})`;
    const some = connection.query<[], { id: number; called: string | null }>(
      `SELECT ${name} AS id, ${called} AS called FROM ${view} WHERE ${name} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 10`,
    );
    return { name, one, some };
  });
  return (question) => {
    for (const { name, one, some } of checks) {
      const value = question[name];
      if (value === undefined || one.get([value]) !== undefined) continue;
      const there = some.all([]).map(({ id, called }) => (called === null ? id : `${id} (${called})`));
      throw badArgument(
        `${name}: no product has ${value}`,
        `the commonest are ${there.join(', ') || 'none: the mirror is empty'}`,
      );
    }
  };
}
