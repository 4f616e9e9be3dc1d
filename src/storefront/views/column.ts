/** A column, and what type its values have in TypeScript. */
export interface ViewColumn<Value> {
  readonly type: 'integer' | 'real' | 'text';
  readonly nullable: boolean;
  /** The contract that brought it: in the mirror of an older one it is null. Absent: it was always there. */
  readonly since?: number;
  /** Never there: it carries the type. */
  readonly of?: Value;
}

export type Row<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends ViewColumn<infer Value>
    ? Columns[Name] extends { readonly since: number }
      ? Value | null
      : Value
    : never;
};

export const integer: ViewColumn<number> = { type: 'integer', nullable: false };
export const real: ViewColumn<number> = { type: 'real', nullable: false };
export const text = <Value extends string = string>(): ViewColumn<Value> => ({ type: 'text', nullable: false });
export const bit: ViewColumn<0 | 1> = { type: 'integer', nullable: false };
export const orNull = <Value>(column: ViewColumn<Value>): ViewColumn<Value | null> => ({
  type: column.type,
  nullable: true,
});

/** What `policies` are asked with: null in a mirror that an older version has written. */
export const expiry = {
  expired_at: { ...integer, since: 3 },
  freshness: { ...text<'fresh' | 'stale' | 'expired'>(), since: 3 },
};

/** What a shop prints, and whose price it is. */
export const printed = {
  lowest_adult_price: { ...orNull(integer), since: 5 },
  price_variant_type: { ...orNull(text()), since: 5 },
};
