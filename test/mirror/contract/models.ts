import { contract, contractVersion } from '../../../src/mirror/contract/contract.ts';
import type { Table } from '../../../src/mirror/contract/table.ts';

/*
 * Models of the views for clients that cannot read them out of a mirror: in SQLite 3.40, Debian's, an expression of a view
 * has no type, and typeorm-model-generator reads tables only.
 */

interface Field {
  readonly name: string;
  readonly type: 'integer' | 'real' | 'text';
  readonly nullable: boolean;
  readonly key: boolean;
}

interface View {
  readonly name: string;
  /** The name as a class has it: ProductPrices. */
  readonly model: string;
  readonly columns: readonly Field[];
  readonly key: readonly string[];
}

const tables: readonly Table[] = Object.values(contract);
const views: readonly View[] = tables.map(({ name, key, columns }) => ({
  name,
  model: name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()),
  key,
  columns: Object.entries(columns).map(([column, { type, null: why }]) => ({
    name: column,
    type,
    nullable: why !== undefined && !key.includes(column),
    key: key.includes(column),
  })),
}));

const madeFrom = `Made from schema/contract.json, contract ${contractVersion}: what each column means stands there.`;

function sqlalchemy(): string {
  const types = { integer: 'Integer', real: 'Float', text: 'Text' };
  const column = ({ name, type, nullable, key }: Field) =>
    `    ${name} = Column(${types[type]}, ${key ? 'primary_key=True' : `nullable=${nullable ? 'True' : 'False'}`})\n`;
  const models = views.map(
    ({ name, model, columns }) =>
      `class ${model}(Base):\n    __tablename__ = "${name}"\n${columns.map(column).join('')}`,
  );
  return `# ${madeFrom}
# SQLAlchemy 1.4 or newer: create_engine("sqlite:///file:data/mirror.db?mode=ro&uri=true")
from sqlalchemy import Column, Float, Integer, Text
from sqlalchemy.orm import declarative_base

Base = declarative_base()


${models.join('\n\n')}`;
}

function django(): string {
  const types = { integer: 'BigIntegerField', real: 'FloatField', text: 'TextField' };
  const models = views.map(({ name, model, columns, key }) => {
    const composite = key.map((column) => `"${column}"`).join(', ');
    const pk = key.length > 1 ? `    pk = models.CompositePrimaryKey(${composite})\n` : '';
    const column = (each: Field) => {
      const options = each.nullable ? 'null=True' : each.key && key.length === 1 ? 'primary_key=True' : '';
      return `    ${each.name} = models.${types[each.type]}(${options})\n`;
    };
    const meta = `\n    class Meta:\n        managed = False\n        db_table = "${name}"\n`;
    return `class ${model}(models.Model):\n${pk}${columns.map(column).join('')}${meta}`;
  });
  return `# ${madeFrom}
# Django 5.2 or newer: DATABASES["mirror"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:data/mirror.db?mode=ro", "OPTIONS": {"uri": True}}
from django.db import models


${models.join('\n\n')}`;
}

function typeorm(): string {
  const types = { integer: 'number', real: 'number', text: 'string' };
  const column = ({ name, type, nullable }: Field) =>
    `  @ViewColumn() ${name}!: ${types[type]}${nullable ? ' | null' : ''};\n`;
  const models = views.map(
    ({ name, model, columns }) =>
      `@ViewEntity({ name: '${name}', synchronize: false })\nexport class ${model} {\n${columns.map(column).join('')}}\n`,
  );
  return `// ${madeFrom}
// TypeORM 0.3: new DataSource({ type: 'better-sqlite3', database: 'data/mirror.db', readonly: true, enableWAL: false, entities: [Products, …] })
import { ViewColumn, ViewEntity } from 'typeorm';

${models.join('\n')}`;
}

/** By the name of its file in schema/models/. */
export const models: Readonly<Record<string, string>> = {
  'sqlalchemy.py': sqlalchemy(),
  'django.py': django(),
  'typeorm.ts': typeorm(),
};
