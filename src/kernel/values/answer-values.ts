import { z } from 'zod';

/* The kinds of value in answers: an answer is declared once, as a zod shape, beside the code that makes it. */

/** An instant in epoch milliseconds. It may have a fraction, because pauses are added to it. */
export const instant = z.number().meta({ description: 'epoch milliseconds' });
export const never = instant.nullable();
export const count = z.int().nonnegative();
export const bit = z.literal([0, 1]);
export const text = z.string();
export const maybe = z.string().nullable();
export const amount = z.number().nullable();

/** A date, which was checked when it was stored. */
export const date = z.string().meta({ format: 'date' });

export const money = z.object({ amount: z.number().meta({ description: 'minor units' }), currency: text });

/** Text that is one of these words. */
export const word = <Word extends string>() => text as unknown as z.ZodType<Word, Word>;

/** The type of the values that a shape accepts. */
export type Shaped<Schema extends z.ZodType> = ReadOnly<z.output<Schema>>;

export type ReadOnly<Value> = Value extends readonly (infer Each)[]
  ? readonly ReadOnly<Each>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: ReadOnly<Value[Key]> }
    : Value;
