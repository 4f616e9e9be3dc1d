import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type LoadedConfig, parseConfig, type Secrets } from '../../src/config/load.ts';

/** A configuration whose files lie in `directory` and whose service is `url`; `more` is laid over it. */
export function testConfig(
  directory: string,
  url: string,
  more: Record<string, unknown> = {},
  some: Partial<Secrets> = {},
): LoadedConfig {
  const text = testConfigText(directory, url, more);
  const secrets = {
    api_key: null,
    signing_key: null,
    receiver_secret: null,
    admin_token: null,
    storefront_token: null,
    database_url: null,
    ...some,
  };
  return { ...parseConfig(text), secrets, placesOf: () => [], file: 'test' };
}

/** The same as YAML, for a process of its own. */
export function testConfigText(directory: string, url: string, more: Record<string, unknown> = {}): string {
  const service = { base_url: url, profile: { authorization: { header: null } } };
  const mirror = {
    path: join(directory, 'mirror', 'mirror.db'),
    state_dir: join(directory, 'state'),
  };
  const base = {
    service,
    mirror,
    admin: { listen: `unix:${join(directory, 'state', 'admin.sock')}` },
    // By schedule another process makes them, which knows no clock of a test.
    backup: { directory: join(directory, 'backup'), at: null },
  };
  const given = more.service as object | undefined;
  const images = more.images === undefined ? {} : { images: { directory: join(directory, 'images'), ...more.images } };
  // A virtual day costs five times as much with the extra reads of the default: who asks about them gives a share. Nor does any test
  // meet random reads that does not ask for them.
  const budget = { share: 0, audit: 0, ...(more.budget ?? { requests_per_second: 100_000, concurrency: 4 }) };
  return stringify({
    ...base,
    ...more,
    ...images,
    budget,
    service: given === undefined ? service : { base_url: url, ...given },
  });
}

/** Writes it to `catalogued.yaml` in the same directory, for this user alone, and returns that path. */
export function writeTestConfig(...given: Parameters<typeof testConfigText>): string {
  const path = join(given[0], 'catalogued.yaml');
  writeFileSync(path, testConfigText(...given), { mode: 0o600 });
  return path;
}
