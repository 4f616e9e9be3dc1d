/** The columns of each view, in their order. */
export type ViewColumns = ReadonlyMap<string, readonly string[]>;

/**
 * Names the columns of views. Where a view begins with `SELECT p.*`, that stands for the columns that `columns` names and the view
 * does not list itself. All of them come in the order of `columns`; others come last. They are named without their table, which
 * every new connection would parse and look up; a column that another table of the view has too is listed with it.
 */
export function withColumns(text: string, columns: ViewColumns): string {
  return text.replace(
    /^(CREATE VIEW (\w+) AS\s+SELECT )\w+\.\*(?:,(.*?))?(?=\nFROM )/gms,
    (_, begin: string, view: string, list = '') => {
      const listed = new Map(itemsOf(list).map((item) => [/\w+$/.exec(item)?.[0] ?? '', item]));
      const declared = columns.get(view) ?? [];
      const others = listed.keys().filter((name) => !declared.includes(name));
      return begin + [...declared, ...others].map((name) => listed.get(name) ?? name).join(', ');
    },
  );
}

/** Returns the items of a list of columns: it is divided at commas outside of parentheses. */
function itemsOf(list: string): string[] {
  let depth = 0;
  const items = [''];
  for (const sign of list) {
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (sign === ',' && depth === 0) items.push('');
    else items[items.length - 1] += sign;
  }
  return items.map((item) => item.trim()).filter((item) => item !== '');
}
