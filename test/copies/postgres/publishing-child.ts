import { pathToFileURL } from 'node:url';
import type { connectPostgres as connect } from '../../../src/copies/postgres/connect.ts';
import type { Publication as PublicationOfThis } from '../../../src/copies/postgres/publication.ts';

/* Publishes a mirror whole, and stands still in the last statement before the commit until it is killed. */

const [root = '', url = '', mirror_path = ''] = process.argv.slice(2);
const module = (path: string) => import(pathToFileURL(`${root}/src/copies/postgres/${path}.ts`).href);
const { connectPostgres } = (await module('connect')) as { connectPostgres: typeof connect };
const { Publication } = (await module('publication')) as { Publication: typeof PublicationOfThis };
const schema = 'catalogued';
const postgres = await connectPostgres({ url, schema });
const options = { postgres, schema, mirror_path, now: Date.now, newOrigin: () => 'of the killed' };
await new Publication({
  ...options,
  fence: async (statements) => void (await statements.query('SELECT pg_sleep(60)')),
}).publish();
