import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { printSchema } from '../../src/commands/config.ts';
import { configKeys, jsonSchema, type SchemaNode } from '../../src/config/json-schema.ts';
import { parseConfig } from '../../src/config/load.ts';
import { configOf } from './check.ts';

const root = new URL('../../', import.meta.url);
const example = readFileSync(new URL('config/catalogued.yaml', root), 'utf8');

test('schema/config.schema.json is what `catalogued config schema` prints (npm run generate)', async () => {
  await expect(printSchema()).toMatchFileSnapshot('../../schema/config.schema.json');
});

test('config/catalogued.yaml is the defaults', () => {
  expect(parseConfig(example).config).toEqual(configOf({ service: { base_url: 'https://api.example.com' } }));
  expect(parseConfig(example).warnings).toEqual([expect.stringMatching(/^service.user_agent is catalogued/)]);
});

/** What the specification leaves open is in docs/reference/assumptions.md, and the beliefs of its tests. */
const ofProfile = (name: string) => name.startsWith('service.profile.');
const names = () => configKeys().map(({ name }) => name);

test('config/catalogued.yaml shows every key but those of the profile, and no other, on a screen and a half', () => {
  expect(leaves(parse(example)).filter((name) => !name.startsWith('service.profile'))).toEqual(
    names().filter((name) => !ofProfile(name)),
  );
  expect(names().filter(ofProfile).length).toBeGreaterThan(10);
  expect(example.split('\n').length).toBeLessThanOrEqual(70);
  for (const line of example.split('\n')) expect(line.length).toBeLessThanOrEqual(140);
});

test('the defaults that an editor shows are the ones that hold', () => {
  const shown = defaultsOf(jsonSchema() as Described, '');
  const { config } = parseConfig(`service: { base_url: https://api.example.com }`);
  expect(shown.map(([name]) => name)).toEqual(names().filter((name) => name !== 'service.base_url'));
  const given = configOf(Object.fromEntries([['service', { base_url: 'https://api.example.com' }]]));
  const written = { service: { base_url: 'https://api.example.com' } };
  for (const [name, value] of shown) place(written, name.split('.'), value);
  expect(configOf(written)).toEqual(given);
  expect(config).toEqual(given);
});

test('an editor gets a pattern for each duration, and the closed list of keys', () => {
  const schema = JSON.stringify(jsonSchema());
  expect(schema).toContain('"pattern":"^\\\\d{1,9}(ms|s|m|h|d)$"');
  expect(jsonSchema()).toMatchObject({ additionalProperties: false, required: ['service'] });
});

interface Described extends SchemaNode {
  readonly default?: unknown;
}

function defaultsOf(node: Described, name: string): [string, unknown][] {
  if (node.properties === undefined) return 'default' in node ? [[name, node.default]] : [];
  return Object.entries(node.properties).flatMap(([key, child]) =>
    defaultsOf(child, name === '' ? key : `${name}.${key}`),
  );
}

/** Keys of a YAML value, down to what is no section. */
function leaves(value: unknown, name = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [name];
  return Object.entries(value).flatMap(([key, child]) => leaves(child, name === '' ? key : `${name}.${key}`));
}

function place(target: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) target[first] = value;
  else {
    target[first] ??= {};
    place(target[first] as Record<string, unknown>, rest, value);
  }
}

test('the first configuration of the unit is valid, and puts everything where the unit lets it', () => {
  const { config, warnings } = parseConfig(
    readFileSync(new URL('../../config/systemd/catalogued.yaml', import.meta.url), 'utf8'),
  );
  expect(warnings).toEqual([]);
  const places = [
    config.mirror.path,
    config.mirror.inbox_path,
    config.mirror.state_dir,
    config.images.directory,
    config.backup.directory,
  ];
  expect(places.filter((place) => !place.startsWith('/var/lib/catalogued/'))).toEqual([]);
  expect(config.admin.listen).toBe('unix:/var/lib/catalogued/state/admin.sock');
});
