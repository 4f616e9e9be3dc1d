// Prints, by view and column, what TypeORM reads through schema/models/typeorm.ts: number or text.
const { DataSource } = require('typeorm');
const models = require('./models.js');

const source = new DataSource({
  type: 'better-sqlite3',
  database: 'mirror.db',
  readonly: true,
  enableWAL: false,
  entities: Object.values(models),
});
const nameOf = (value) => (typeof value === 'string' ? 'text' : typeof value);

source.initialize().then(async () => {
  const found = {};
  for (const model of Object.values(models)) {
    const { tableName } = source.getRepository(model).metadata;
    const rows = await source.getRepository(model).find({ take: 500 });
    const values = rows.flatMap(Object.entries).filter(([, value]) => value !== null);
    found[tableName] = Object.fromEntries(values.map(([column, value]) => [column, nameOf(value)]));
    if (rows.length === 0) throw new Error(`${tableName} has no rows`);
  }
  process.stdout.write(JSON.stringify(found));
});
