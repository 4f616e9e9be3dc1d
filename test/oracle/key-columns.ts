import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const contract = readFileSync(join(import.meta.dirname, '../../schema/contract.json'), 'utf8');
const { views } = JSON.parse(contract) as { views: Record<string, { key: readonly string[] }> };

/** Columns that identify a row of a view, by view: as the published contract names them. */
export const keyColumns: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(views).map(([view, { key }]) => [view, key]),
);
