import { execFileSync } from 'node:child_process';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../../fakes/needs.ts';
import { columnsOf, readable } from './tables.ts';
import { type TypedCopy, typedCopy } from './typed-copy.ts';

/*
 * A column that compares as its type gives the same rows to a client that binds text as to one that binds numbers. What
 * is right is what SQLite answers of a table whose columns are declared with the types of the contract.
 */

type Bound = readonly ['text' | 'integer' | 'float' | 'null', string];

/** A statement whose answer is 0 where a view finds as many rows as the typed table; `value` is bound. */
interface Question {
  readonly column: string;
  readonly sql: string;
  readonly bound: Bound;
}

/** A value of a column as a client of each kind binds it. */
function bindings(value: string | number): Bound[] {
  const number = Number.isFinite(Number(value)) ? Number(value) : 7;
  return [
    ['text', String(value)],
    ['integer', String(Math.trunc(number))],
    ['float', String(number)],
    ['null', ''],
  ];
}

const comparisons = ['= :value', '<= :value', '<> :value', 'IN (:value, :value)'];

/** `bare_`: of the same view without types. */
function questionsOf(db: Database.Database, view: string, prefix: 'bare_' | ''): Question[] {
  return columnsOf(view).flatMap(([column]) => {
    // What is compared with it is an expression of FTS5, never a value.
    if (column === 'entry') return [];
    const values = db
      .prepare<[], string | number>(`SELECT DISTINCT "${column}" FROM typed_${view} WHERE "${column}" IS NOT NULL`)
      .pluck()
      .all();
    const some = [...new Set([values[0], values[values.length >> 1]])].filter((value) => value !== undefined);
    return comparisons.flatMap((comparison) => {
      const count = (table: string) => `(SELECT count(*) FROM ${table} WHERE "${column}" ${comparison})`;
      const sql = `SELECT ${count(prefix + view)} - ${count(`typed_${view}`)}`;
      return some.flatMap(bindings).map((bound) => ({ column: `${view}.${column}`, sql, bound }));
    });
  });
}

/** The columns of which a view finds other rows than the typed table, by the SQLite of this program. */
function differingHere(db: Database.Database, questions: readonly Question[]): string[] {
  const values = {
    text: String,
    integer: BigInt,
    // better-sqlite3 binds every number as REAL.
    float: Number,
    null: () => null,
  };
  const differ = questions.filter(
    ({ sql, bound: [type, value] }) =>
      db
        .prepare(sql)
        .pluck()
        .get({ value: values[type](value) }) !== 0,
  );
  return [...new Set(differ.map(({ column }) => column))];
}

const python = `import json, sqlite3, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
values = {"text": str, "integer": int, "float": float, "null": lambda value: None}
differ = [q["column"] for q in json.load(sys.stdin) if db.execute(q["sql"], {"value": values[q["bound"][0]](q["bound"][1])}).fetchone()[0] != 0]
print(json.dumps(list(dict.fromkeys(differ))))`;

/** The same by the SQLite of Debian’s Python, 3.40. */
function differingInPython(path: string, questions: readonly Question[]): string[] {
  const output = execFileSync('python3', ['-c', python, path], { input: JSON.stringify(questions), encoding: 'utf8' });
  return JSON.parse(output) as string[];
}

describe('a column of a view', () => {
  let copy: TypedCopy;
  let db: Database.Database;

  beforeAll(async () => {
    copy = await typedCopy();
    ({ db } = copy);
  });

  afterAll(() => copy[Symbol.dispose]());

  const questions = (prefix: 'bare_' | '') => copy.views.flatMap((view) => questionsOf(db, view, prefix));
  const numbers = () =>
    [...new Set(questions('').map(({ column }) => column))].filter((column) => {
      const [view = '', name = ''] = column.split('.');
      return readable[view]?.columns[name]?.type !== 'text';
    });

  it('has rows to be compared, in every view and in most columns', () => {
    const empty = copy.views.filter((view) => db.prepare(`SELECT 1 FROM ${view}`).get() === undefined);
    expect(empty).toEqual([]);
    expect(questions('').length).toBeGreaterThan(5000);
  });

  it('finds the same rows by text, integers, floats and NULL as a column declared with its type', () => {
    expect(differingHere(db, questions(''))).toEqual([]);
  });

  it('does so in SQLite 3.40 too', needs('python3'), () => {
    expect(differingInPython(copy.path, questions(''))).toEqual([]);
  });

  it('finds others as soon as it has no type (control)', needs('python3'), () => {
    const asked = questions('bare_').filter(({ sql }) => sql.includes(' = :value'));
    expect(differingHere(db, asked)).toEqual(expect.arrayContaining(numbers()));
    expect(differingInPython(copy.path, asked)).toEqual(expect.arrayContaining(numbers()));
  });

  it('tells the rows of its view apart where it is of the key', () => {
    const twice = (view: string, columns: string) =>
      db.prepare(`SELECT ${columns} FROM ${view} GROUP BY ${columns} HAVING count(*) > 1`).all();
    for (const view of copy.views) expect(twice(view, readable[view]?.key.join(', ') ?? ''), view).toEqual([]);
    // Control: half a key does not.
    expect(twice('products', 'product_id')).not.toEqual([]);
  });

  it('has the type that schema/contract.json names', () => {
    const declared = { integer: 'INT', real: 'REAL', text: 'TEXT' };
    const types = new Database(copy.path);
    for (const view of copy.views) {
      types.exec(`CREATE TEMP TABLE found AS SELECT * FROM ${view} LIMIT 0`);
      const found = types
        .prepare<[], { name: string; type: string }>("SELECT name, type FROM pragma_table_info('found')")
        .all();
      types.exec('DROP TABLE temp.found');
      for (const { name, type } of found)
        if (name !== 'entry')
          expect(type, `${view}.${name}`).toBe(declared[readable[view]?.columns[name]?.type ?? 'text']);
    }
    types.close();
  });
});
