import type { Change } from '../../../src/storefront/reader.ts';
import { columnsOf, tables } from '../../mirror/contract/tables.ts';
import type { CopyScript, Name, Read, Row } from './script.ts';

/** The columns of a view that the feed announces. */
export function announced(view: string): readonly string[] {
  return columnsOf(view)
    .filter(([, { byClock }]) => !byClock)
    .map(([column]) => column);
}

/** Every view with a column that is announced. */
export const announcedViews = Object.keys(tables).filter((view) => announced(view).length > 0);

/** A copy of the views, kept by the scripts of docs/copies.md: what it knows of the mirror, it read because it was named. */
export interface Importer {
  /** Applies the changes of a pass. */
  pass(changes: readonly Change[], read: Read): void;
  /** Reads again what the clock changes. */
  tick(often: 'hourly' | 'daily', now: number, read: Read): void;
  /** Returns the copied rows of a view. */
  rows(view: string): readonly Row[];
}

/** `without`: a kind of change that it passes over. */
export function importer(script: CopyScript, without: string | null = null): Importer {
  /** By view, and by the product; all in one where they have none. */
  const copy = new Map<string, Map<unknown, readonly Row[]>>(announcedViews.map((view) => [view, new Map()]));

  function replaceIn(view: string, where: Name[1], rows: readonly Row[]): void {
    const buckets = copy.get(view) ?? new Map<unknown, readonly Row[]>();
    const touched = 'product_id' in where ? [where.product_id] : [...buckets.keys()];
    for (const bucket of touched) {
      const kept = (buckets.get(bucket) ?? []).filter((row) =>
        Object.entries(where).some(([name, is]) => row[name] !== is),
      );
      buckets.set(bucket, kept);
    }
    for (const row of rows) buckets.set(row.product_id, [...(buckets.get(row.product_id) ?? []), row]);
    copy.set(view, buckets);
  }

  function apply(names: readonly Name[], read: Read): void {
    script.apply(names, read, replaceIn);
  }

  return {
    pass: (changes, read) => {
      if (without === 'pass_completed') return;
      apply(
        changes.filter(({ kind }) => kind !== without).flatMap((change) => [...script.named(change)]),
        read,
      );
    },
    tick: (often, now, read) => apply(script.byTheClock(now, often), read),
    rows: (view) => [...(copy.get(view)?.values() ?? [])].flat(),
  };
}

/** Returns the cells in which a copy differs from what a view shows, as text. */
export function differences(view: string, copied: readonly Row[], shown: readonly Row[]): string[] {
  const columns = announced(view);
  const [before, after] = [copied, shown].map((rows) =>
    rows.map((row) => JSON.stringify(columns.map((name) => row[name]))),
  );
  const [have, want] = [new Set(before), new Set(after)];
  return [
    ...[...want].filter((row) => !have.has(row)).map((row) => `${view}: the copy lacks ${row}`),
    ...[...have].filter((row) => !want.has(row)).map((row) => `${view}: the copy alone has ${row}`),
  ];
}

const keyed: Readonly<Record<string, readonly string[]>> = {
  images: ['product_id', 'image_key'],
  // Their rows only come and go: that is how their columns change.
  withdrawn_products: announced('withdrawn_products'),
  alternatives: announced('alternatives'),
};

const keyOfView = (view: string) => keyed[view] ?? tables[view]?.key ?? announced(view);

/** Returns what tells a row of a view from its others, as text. */
export function keyOf(view: string, row: Row): string {
  return JSON.stringify(keyOfView(view).map((name) => row[name]));
}

/** Which columns have been seen to change: in a row that stayed, or because rows came and went. */
export function columnsSeen() {
  const seen = new Set<string>();
  return {
    seen,
    /** Compares what a view shows with what it showed. */
    look: (view: string, before: readonly Row[], after: readonly Row[]) => {
      const columns = announced(view);
      const named = keyOfView(view);
      // Rows that are nothing but a key come with every product that is new: they have changed where a product had others before.
      const withRows =
        keyed[view] === undefined && columns.every((name) => named.includes(name))
          ? new Set(before.map(({ product_id }) => product_id))
          : null;
      const stood = new Map(before.map((row) => [keyOf(view, row), row]));
      const stands = new Map(after.map((row) => [keyOf(view, row), row]));
      for (const [key, row] of stands) {
        const old = stood.get(key);
        if (old === undefined && withRows?.has(row.product_id) === false) continue;
        for (const name of columns)
          if (old === undefined ? named.includes(name) : old[name] !== row[name]) seen.add(`${view}.${name}`);
      }
    },
  };
}
