import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { document } from '../../documents.ts';
import { needs } from '../../fakes/needs.ts';
import { models } from './models.ts';
import { columnsOf, tables as contract } from './tables.ts';
import { type TypedCopy, typedCopy } from './typed-copy.ts';

/*
 * What generators and ORMs rely on. kysely-codegen, drizzle-kit, TypeORM, SQLAlchemy and Django themselves were tried at
 * 8552e50f, with the result in docs/clients.md; here stands what has to hold so that they go on working.
 */

const views = Object.keys(contract);

/** By view and column, the type that a client takes it for; `number` where it does not tell integers from reals. */
type Found = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The columns of the contract that a client misses or takes for another type. */
function misread(found: Found): string[] {
  return views.flatMap((view) =>
    columnsOf(view).flatMap(([column, { type }]) => {
      const taken = found[view]?.[column];
      if (taken === type || (taken === 'number' && type !== 'text')) return [];
      return [`${view}.${column} is ${type}, not ${taken}`];
    }),
  );
}

/** The configuration of docs/clients.md that begins with the name of its file, as the generator loads it. */
function configuration(name: string): Record<string, unknown> {
  const code = new RegExp(`\`\`\`(?:js|ts)\n// ${name}\n(.*?)\`\`\``, 's').exec(document('docs/clients.md'))?.[1] ?? '';
  const module = { exports: {} };
  new Function('module', 'require', code)(module, createRequire(new URL('../../../package.json', import.meta.url)));
  return module.exports;
}

const classOf = (view: string) => view.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const names = () => views.flatMap((view) => [view, ...columnsOf(view).map(([column]) => column)]);

/** Runs a program of Python that is given JSON and prints JSON. */
function python<Answer>(program: string, args: readonly string[], input: unknown): Answer {
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  const output = execFileSync('python3', ['-c', program, ...args], {
    cwd,
    input: JSON.stringify(input),
    encoding: 'utf8',
  });
  return JSON.parse(output) as Answer;
}

/** Loads the models beside packages that only remember what they are told, and reads every row by them. */
const readByModels = `import json, sqlite3, sys, types
class Told:
    def __init__(self, kind, args, options): self.kind, self.args, self.options = kind, args, options
def teller(kind): return lambda *args, **options: Told(kind, args, options)
def package(name, **members):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)
fields = ("BigIntegerField", "FloatField", "TextField", "CompositePrimaryKey")
django = types.SimpleNamespace(Model=object, **{name: teller(name) for name in fields})
package("django"); package("django.db", models=django)
package("sqlalchemy", Column=teller("Column"), Integer="integer", Float="real", Text="text")
package("sqlalchemy.orm", declarative_base=lambda: object)
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
kinds = {"integer": int, "real": (int, float), "text": str}
named = {"BigIntegerField": "integer", "FloatField": "real", "TextField": "text"}
db = sqlite3.connect("file:" + sys.argv[2] + "?mode=ro", uri=True)
found, keys = {}, {}
for model in scope.values():
    if not isinstance(model, type) or model is object: continue
    members = {name: member for name, member in vars(model).items() if isinstance(member, Told)}
    table = getattr(model, "__tablename__", None) or model.Meta.db_table
    key = members.pop("pk").args if "pk" in members else [name for name, member in members.items() if member.options.get("primary_key")]
    columns = {name: named.get(member.kind) or member.args[0] for name, member in members.items()}
    rows = db.execute("SELECT %s FROM %s" % (", ".join(columns), table)).fetchall()
    for row in rows:
        for (column, kind), value in zip(list(columns.items()), row):
            nullable = column in key or members[column].options.get("null") or members[column].options.get("nullable")
            if not (nullable if value is None else isinstance(value, kinds.get(kind, object))):
                columns[column] = type(value).__name__
    told = {tuple(row[list(columns).index(column)] for column in key) for row in rows}
    if len(told) != len(rows) or not rows: columns = {"key": "of %d in %d rows" % (len(told), len(rows))}
    found[table], keys[table] = columns, list(key)
print(json.dumps([found, keys]))`;

describe('a generator or an ORM', () => {
  let copy: TypedCopy;
  let db: TypedCopy['db'];

  beforeAll(async () => {
    copy = await typedCopy();
    ({ db } = copy);
  });

  afterAll(() => copy[Symbol.dispose]());

  const introspected = (prefix: 'bare_' | ''): Found =>
    Object.fromEntries(
      views.map((view) => {
        const columns = db
          .prepare<[string], { name: string; type: string }>('SELECT name, type FROM pragma_table_info(?)')
          .all(prefix + view);
        const types: Record<string, string> = { int: 'integer', integer: 'integer', real: 'real', text: 'text' };
        return [view, Object.fromEntries(columns.map(({ name, type }) => [name, types[type.toLowerCase()] ?? type]))];
      }),
    );

  it('finds by introspection every column of every view, with its type', () => {
    expect(misread(introspected(''))).toEqual([]);
  });

  it('finds others as soon as the views have no types (control)', () => {
    expect(misread(introspected('bare_')).length).toBeGreaterThan(200);
  });

  it('is told by the configurations of docs/clients.md to leave out all that is private, and no view', () => {
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT GLOB 'typed_*' AND name NOT GLOB 'bare_*' AND name NOT GLOB 'sqlite_*'",
      )
      .pluck()
      .all();
    const { includePattern } = configuration('.kysely-codegenrc.cjs') as { includePattern: string };
    const { tablesFilter } = configuration('drizzle.config.cjs') as { tablesFilter: string[] };
    const byPattern = tables.filter((name) => matchesGlob(name, includePattern));
    const byFilter = tables.filter((name) => tablesFilter.some((each) => matchesGlob(name, each)));
    expect(byPattern.sort()).toEqual([...views].sort());
    expect(byFilter.sort()).toEqual([...views].sort());
    expect(tables.length).toBeGreaterThan(byPattern.length + 50);
  });

  it('is told by that of kysely-codegen the type of every column, and which may be NULL', () => {
    const { overrides } = configuration('.kysely-codegenrc.cjs') as { overrides: { columns: Record<string, string> } };
    const told: Record<string, Record<string, string>> = {};
    for (const [name, type] of Object.entries(overrides.columns)) {
      const [view = '', column = ''] = name.split('.');
      told[view] = { ...told[view], [column]: type.startsWith('string') ? 'text' : 'number' };
      const nulls = db.prepare(`SELECT 1 FROM "${view}" WHERE "${column}" IS NULL`).get() !== undefined;
      expect(nulls && !type.endsWith(' | null'), name).toBe(false);
    }
    expect(misread(told)).toEqual([]);
  });

  it('can name a class, a variable and a field after each view and column, quoted or not', needs('python3'), () => {
    expect(names().filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).toEqual([]);
    expect(new Set(views.map(classOf)).size).toBe(views.length);
    for (const view of views) expect(() => new Function(`let ${view}, ${classOf(view)};`), view).not.toThrow();
    for (const [view, { columns }] of Object.entries(contract))
      expect(() => db.prepare(`SELECT ${Object.keys(columns).join(', ')} FROM ${view}`), view).not.toThrow();
    const reserved =
      'import json, keyword, sys\nprint(json.dumps([n for n in json.load(sys.stdin) if keyword.iskeyword(n)]))';
    expect(python(reserved, [], names())).toEqual([]);
    expect(python(reserved, [], ['class', 'date'])).toEqual(['class']);
    // Members that a model of Django or SQLAlchemy has already.
    const taken = ['pk', 'objects', 'check', 'clean', 'delete', 'save', 'metadata', 'registry'];
    expect(names().filter((name) => taken.includes(name))).toEqual([]);
  });

  it.each(['sqlalchemy.py', 'django.py'])(
    'that uses schema/models/%s reads every row by its key, each value as its type',
    needs('python3'),
    (name) => {
      const [found, key] = python<[Found, Record<string, string[]>]>(
        readByModels,
        [`schema/models/${name}`, copy.path],
        null,
      );
      expect(misread(found)).toEqual([]);
      const sorted = Object.values(contract).map(({ name: view, key: columns }) => [view, [...columns].sort()]);
      expect(Object.entries(key).map(([view, columns]) => [view, [...columns].sort()])).toEqual(sorted);
    },
  );

  it('that uses schema/models/typeorm.ts finds every column with its type', async () => {
    // It asks the machine what it is as soon as it is loaded.
    const { parseAst } = await import('vitest/node');
    const code = models['typeorm.ts'] ?? '';
    expect(() => parseAst(code, { lang: 'ts' })).not.toThrow();
    const classes = [...code.matchAll(/@ViewEntity\(\{ name: '(\w+)', [^\n]*\nexport class (\w+) \{\n(.*?)\n\}/gs)];
    const found = classes.map(([, view = '', model, body = '']) => {
      expect(model).toBe(classOf(view));
      const members = [...body.matchAll(/(\w+)!: (number|string)/g)];
      return [view, Object.fromEntries(members.map(([, column, type]) => [column, type === 'string' ? 'text' : type]))];
    });
    expect(misread(Object.fromEntries(found))).toEqual([]);
  });
});
