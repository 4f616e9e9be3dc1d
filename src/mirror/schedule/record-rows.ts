import { laneIndex, laneOf } from '../../domain/schedule/lanes.ts';
import type { Due, DueReason, RecordKey } from '../../domain/schedule/record.ts';
import type { Resource } from '../../domain/schedule/resources.ts';
import { type Bound, type ExpressionBuilder, type RawBuilder, sql } from '../../sqlite/statements.ts';
import type { Schema } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** A kind of record that every product has, with the instant in 1970 that puts it in its place in a first fill. */
export interface RecordTemplate {
  readonly resource: Resource;
  readonly edition: string;
  readonly part: number;
  readonly due_at: number;
}

/** A kind of record, whatever its product. */
export type RecordKind = Pick<RecordTemplate, 'resource' | 'edition' | 'part'>;

/** Which records a resync asks for; null means all of that dimension. */
export interface RecordSelection {
  readonly kinds: readonly RecordKind[];
  readonly product_ids: readonly number[] | null;
}

type OfRecord = ExpressionBuilder<Schema, 'record'>;

/** Whether a row is of this kind. */
export function isOfKind({ resource, edition, part }: Bound<RecordKind>) {
  return ({ and, eb }: OfRecord) =>
    and([eb('resource', '=', resource), eb('edition', '=', edition), eb('part', '=', part)]);
}

/** Whether a row is this one. */
export function isRecord(bound: Bound<RecordKey>) {
  const ofKind = isOfKind(bound);
  return ({ and, eb }: OfRecord) => and([ofKind(eb), eb('product_id', '=', bound.product_id)]);
}

/** The rows of a bound JSON array of templates. */
export function templateRows(templates: RawBuilder<string>) {
  return sql<RecordTemplate>`(select value ->> '$.resource' as resource, value ->> '$.edition' as edition,
    value ->> '$.part' as part, value ->> '$.due_at' as due_at from json_each(${templates}))`.as<'t'>('t');
}

/** When a record is due as it is stored, with the lane that goes with the reason. */
export type Planned = Pick<Tables['record'], 'due_at' | 'due_reason' | 'lane'>;

export function planned(key: RecordKey, { at, reason }: Due): Planned {
  return { due_at: at, due_reason: reason, lane: laneIndex(laneOf(key, reason)) };
}

/** One read a product and minute at most, however many notifications come (reliability.md 2.3). */
export const triggeredApartMs = 60_000;

/** Why a record is due that notifications ask for. */
export const triggered: readonly DueReason[] = ['notified', 'closure-unconfirmed'];
