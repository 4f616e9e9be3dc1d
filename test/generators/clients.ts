import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keys } from '../contract/keys.ts';
import type { Found } from './judged.ts';

type Run = (program: string, args: readonly string[]) => string;

export interface Client {
  readonly client: string;
  found(): Found;
  /** Of a generator, once it has run: how many tables it made something of, which are all private. */
  tables?(): number;
}

const packages = [
  'kysely-codegen', 'kysely', 'better-sqlite3', 'drizzle-kit', 'drizzle-orm', 'typeorm-model-generator', 'typeorm', 'typescript@5',
]; // biome-ignore format: a list of packages
const here = (name: string) => new URL(name, import.meta.url).pathname;

/** What TypeScript, or a generator of it, says of members: `name: string | null;`. */
function members(code: string, view: string): Record<string, string> {
  const body = new RegExp(`(?:interface|class) ${view} \\{\n(.*?)\n\\}`, 's').exec(code)?.[1] ?? '';
  const found = [...body.matchAll(/(\w+)!?: (number|string)/g)];
  return Object.fromEntries(found.map(([, name = '', type = '']) => [name, type === 'string' ? 'text' : type]));
}

const classOf = (view: string) => view.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const everyView = (found: (view: string) => Record<string, string>): Found =>
  Object.fromEntries(Object.keys(keys).map((view) => [view, found(view)]));

/** The clients, installed in a directory that has `mirror.db`, `schema/` and the configurations of docs/reading.md. */
export function clients(run: Run, directory: string): Client[] {
  const path = (name: string) => join(directory, name);
  const read = (name: string) => readFileSync(path(name), 'utf8');
  const npx = (...args: string[]) => run('npx', ['--no-install', ...args]);
  if (!existsSync(path('node_modules'))) run('npm', ['install', '--no-audit', '--no-fund', ...packages]);
  if (!existsSync(path('venv'))) {
    run('python3', ['-m', 'venv', 'venv']);
    run('venv/bin/pip', ['install', '--quiet', 'sqlalchemy>=2', 'django>=5.2']);
  }
  const python = (script: string) => JSON.parse(run('venv/bin/python', [here(script)])) as Found;
  return [
    {
      client: 'kysely-codegen',
      found: () => {
        npx('kysely-codegen');
        return everyView((view) => members(read('mirror.d.ts'), classOf(view)));
      },
      tables: () => {
        const [, all = ''] = /interface DB \{\n(.*?)\n\}/s.exec(read('mirror.d.ts')) ?? [];
        return [...all.matchAll(/^ +"?(\w+)"?:/gm)].filter(([, name = '']) => !(name in keys)).length;
      },
    },
    {
      client: 'drizzle-kit pull',
      found: () => {
        npx('drizzle-kit', 'pull', '--config', 'drizzle.config.cjs');
        const code = read('drizzle/schema.ts');
        return everyView((view) => {
          const body = new RegExp(`sqliteView\\("${view}", \\{\n(.*?)\n\\}\\)`, 's').exec(code)?.[1] ?? '';
          const found = [...body.matchAll(/(\w+): (\w+)\((?:"(\w+)")?\)/g)];
          return Object.fromEntries(found.map(([, name = '', type = '', column = name]) => [column, type]));
        });
      },
      tables: () => [...read('drizzle/schema.ts').matchAll(/sqliteTable\(/g)].length,
    },
    {
      client: 'typeorm-model-generator',
      found: () => {
        npx(
          'typeorm-model-generator',
          '-d',
          path('mirror.db'),
          '-e',
          'sqlite',
          '-o',
          path('entities'),
          '--noConfig',
          'true',
        );
        const files = readdirSync(path('entities'));
        return everyView((view) =>
          files.includes(`${classOf(view)}.ts`) ? members(read(`entities/${classOf(view)}.ts`), classOf(view)) : {},
        );
      },
      tables: () => readdirSync(path('entities')).length,
    },
    {
      client: 'TypeORM, schema/models/typeorm.ts',
      found: () => {
        cpSync(path('schema/models/typeorm.ts'), path('models.ts'));
        npx(
          'tsc',
          '--experimentalDecorators',
          '--strict',
          '--skipLibCheck',
          '--target',
          'es2022',
          '--module',
          'commonjs',
          'models.ts',
        );
        cpSync(here('typeorm.cjs'), path('typeorm.cjs'));
        const asked = JSON.parse(run('node', ['typeorm.cjs'])) as Found;
        return everyView((view) => ({ ...members(read('models.ts'), classOf(view)), ...asked[view] }));
      },
    },
    {
      client: 'SQLAlchemy, schema/models/sqlalchemy.py',
      found: () => {
        cpSync(path('schema/models/sqlalchemy.py'), path('mirror_models.py'));
        return python('sqlalchemy_models.py');
      },
    },
    {
      client: 'Django, schema/models/django.py',
      found: () => {
        mkdirSync(path('mirror_app'), { recursive: true });
        writeFileSync(path('mirror_app/__init__.py'), '');
        cpSync(path('schema/models/django.py'), path('mirror_app/models.py'));
        return python('django_models.py');
      },
    },
  ];
}
