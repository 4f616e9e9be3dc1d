/** A column, and what type its values have in TypeScript. */
export interface ViewColumn<Value> {
  readonly type: 'integer' | 'real' | 'text';
  readonly nullable: boolean;
  /** Never there: it carries the type. */
  readonly of?: Value;
}

export type Row<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends ViewColumn<infer Value> ? Value : never;
};

export const integer: ViewColumn<number> = { type: 'integer', nullable: false };
export const real: ViewColumn<number> = { type: 'real', nullable: false };
export const text = <Value extends string = string>(): ViewColumn<Value> => ({ type: 'text', nullable: false });
export const bit: ViewColumn<0 | 1> = { type: 'integer', nullable: false };
export const orNull = <Value>(column: ViewColumn<Value>): ViewColumn<Value | null> => ({
  type: column.type,
  nullable: true,
});

/** Columns with which `policies` are asked. */
export const expiry = {
  expired_at: integer,
  freshness: text<'fresh' | 'stale' | 'expired'>(),
};

/** What a shop prints, and whose price it is. */
export const printed = {
  lowest_adult_price: orNull(integer),
  price_variant_type: orNull(text()),
};
