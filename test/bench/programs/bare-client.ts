import { hash } from 'node:crypto';
import { Pool } from 'undici';

/*
 * Fetches, hashes and parses the paths that it is told, and does nothing with what it finds; tells its parent the
 * processor time that each told list took, in milliseconds.
 */
const [url = '', connections = '4'] = process.argv.slice(2);
const pool = new Pool(url, { connections: Number(connections), pipelining: 1 });

process.on('message', async (paths: readonly string[]) => {
  const before = process.cpuUsage();
  const left = paths.values();
  const work = async () => {
    for (const path of left) {
      const { body } = await pool.request({ method: 'GET', path, headers: { accept: 'application/json' } });
      const bytes = Buffer.from(await body.arrayBuffer());
      hash('sha256', bytes);
      JSON.parse(bytes.toString());
    }
  };
  await Promise.all(Array.from({ length: Number(connections) }, work));
  const { user, system } = process.cpuUsage(before);
  process.send?.((user + system) / 1000);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
