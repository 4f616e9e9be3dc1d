import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ViewColumn } from '../../src/storefront/views/column.ts';
import { contractVersion, views } from '../../src/storefront/views/views.ts';

interface Contract {
  readonly contract_version: number;
  readonly views: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const contract = JSON.parse(readFileSync(new URL('../../schema/contract.json', import.meta.url), 'utf8')) as Contract;

/** The type and whether null is among the values, as the contract's words have them. */
function ofContract(meaning: string) {
  return { type: /^\w+/.exec(meaning)?.[0], nullable: /; null:| null: /.test(meaning) };
}

function ofReader({ type, nullable }: ViewColumn<unknown>) {
  return { type, nullable };
}

function mapped<From, To>(columns: Readonly<Record<string, From>>, to: (from: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, to(column)]));
}

it.each(Object.keys(views).filter((view) => view in contract.views))(
  'the reader’s row of %s has the columns and types of the contract',
  (view) => {
    const columns: Readonly<Record<string, ViewColumn<unknown>>> = views[view as keyof typeof views];
    expect(mapped(columns, ofReader)).toEqual(mapped(contract.views[view] ?? {}, ofContract));
  },
);

it('the reader has a row for every view that says how fresh its rows are; `find` asks bookable_days', () => {
  const fresh = Object.entries(contract.views).filter(([, columns]) => 'freshness' in columns);
  expect(fresh.map(([view]) => view).filter((view) => !(view in views))).toEqual(['bookable_days']);
});

it('the reader is of the contract that is written', () => {
  expect(contractVersion).toBe(contract.contract_version);
});
