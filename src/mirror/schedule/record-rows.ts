import { laneIndex, laneOf } from '../../domain/schedule/lanes.ts';
import type { Due, DueReason, RecordKey } from '../../domain/schedule/record.ts';
import type { RecordKind } from '../../domain/schedule/record-kinds.ts';
import { type Bound, type ExpressionBuilder, type RawBuilder, sql } from '../../sqlite/statements.ts';
import type { Schema } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** A kind of record, for any product. */
export type KindKey = Pick<RecordKind, 'resource' | 'edition' | 'part'>;

/** Records by kind and product. `product_ids` null: of all products. */
export interface RecordSelection {
  readonly kinds: readonly KindKey[];
  readonly product_ids: readonly number[] | null;
}

type OfRecord = ExpressionBuilder<Schema, '_record'>;

/** Returns whether a row is of this kind. */
export function isOfKind({ resource, edition, part }: Bound<KindKey>) {
  return ({ and, eb }: OfRecord) =>
    and([eb('resource', '=', resource), eb('edition', '=', edition), eb('part', '=', part)]);
}

/** Returns whether a row is this one. */
export function isRecord(bound: Bound<RecordKey>) {
  const ofKind = isOfKind(bound);
  return ({ and, eb }: OfRecord) => and([ofKind(eb), eb('product_id', '=', bound.product_id)]);
}

/** Returns the rows of a bound JSON array of templates. */
export function templateRows(templates: RawBuilder<string>) {
  return sql<RecordKind>`(select value ->> '$.resource' as resource, value ->> '$.edition' as edition,
    value ->> '$.part' as part, value ->> '$.due_at' as due_at from json_each(${templates}))`.as<'t'>('t');
}

/** Due instant of a record as stored, with the lane that belongs to its reason. */
export type Planned = Pick<Tables['_record'], 'due_at' | 'due_reason' | 'lane'>;

export function planned(key: RecordKey, { at, reason }: Due): Planned {
  return { due_at: at, due_reason: reason, lane: laneIndex(laneOf(key, reason)) };
}

/** Milliseconds between two reads of a record that notifications cause, however many come. */
export const triggeredApartMs = 60_000;

/** Reasons for records that are due because of notifications. */
export const triggered: readonly DueReason[] = ['notified', 'closure-unconfirmed'];
